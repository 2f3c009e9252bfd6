package io.github.kafkasql.formats.protobuf;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumDescriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.Timestamp;
import io.github.kafkasql.formats.Failures;
import io.github.kafkasql.formats.PayloadEncoder;
import io.github.kafkasql.formats.Times;
import java.io.IOException;
import java.math.BigInteger;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Encodes rows as messages. */
public final class ProtobufEncoder extends PayloadEncoder {
    private static final BigInteger MAX_UINT32 = BigInteger.valueOf(0xFFFFFFFFL);
    private static final BigInteger MAX_UINT64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    private final int[] precisions;
    private final byte[] files;
    private final String messageName;
    private final String nullLiteral;
    private transient ProtobufMessage message;

    /**
     * precisions: digits of the fractional seconds of each column. files: see ProtobufMessage. nullLiteral: what a null
     * string in an ARRAY or MAP is written as.
     */
    public ProtobufEncoder(StructType type, int[] precisions, byte[] files, String messageName, String nullLiteral) {
        super(type);
        this.precisions = precisions;
        this.files = files;
        this.messageName = messageName;
        this.nullLiteral = nullLiteral;
    }

    @Override
    public byte[] encodeRow(InternalRow row) {
        if (message == null) {
            Descriptor descriptor = ProtobufMessage.load(files, messageName);
            message = new ProtobufMessage(descriptor, type, null, "", new ProtobufMessage.Columns(false));
        }
        return toMessage(message, row, precisions).toByteArray();
    }

    /** precisions: null inside a ROW, where times are not rounded. */
    private Message toMessage(ProtobufMessage message, InternalRow row, int[] precisions) {
        DynamicMessage.Builder builder = DynamicMessage.newBuilder(message.descriptor);
        for (int i = message.byColumn.length - 1; i >= 0; i--) {
            ProtobufField field = message.byColumn[i];
            // as in Flink, the last column of a oneof is written
            if (field.oneof >= 0 && builder.hasOneof(field.descriptor.getContainingOneof())) continue;
            if (!field.isRepeated) setField(builder, field, row, i, precisions == null ? 9 : precisions[i]);
            else if (row.isNullAt(i)) continue;
            else if (field.kind == ProtobufField.Kind.MAP) addEntries(builder, field, row.getMap(i));
            else addElements(builder, field, row.getArray(i));
        }
        return builder.buildPartial();
    }

    private void addElements(DynamicMessage.Builder builder, ProtobufField field, ArrayData array) {
        for (int i = 0; i < array.numElements(); i++) {
            builder.addRepeatedField(field.descriptor, toElement(field, array, i));
        }
    }

    private void addEntries(DynamicMessage.Builder builder, ProtobufField field, MapData map) {
        ProtobufField key = field.message.byColumn[0];
        ProtobufField value = field.message.byColumn[1];
        for (int i = 0; i < map.numElements(); i++) {
            DynamicMessage.Builder entry = DynamicMessage.newBuilder(field.message.descriptor);
            entry.setField(key.descriptor, toElement(key, map.keyArray(), i));
            entry.setField(value.descriptor, toElement(value, map.valueArray(), i));
            builder.addRepeatedField(field.descriptor, entry.buildPartial());
        }
    }

    /** Returns an element of an ARRAY or MAP. Null is an empty message or value, or the first value of an enum. */
    private Object toElement(ProtobufField field, ArrayData array, int i) {
        if (!array.isNullAt(i)) return toValue(field, array, i, 9);
        return switch (field.descriptor.getJavaType()) {
            case STRING -> nullLiteral;
            case BYTE_STRING -> ByteString.EMPTY;
            case MESSAGE -> DynamicMessage.getDefaultInstance(field.descriptor.getMessageType());
            case ENUM -> field.descriptor.getEnumType().getValues().get(0);
            case INT -> 0;
            case LONG -> 0L;
            case FLOAT -> 0f;
            case DOUBLE -> 0d;
            case BOOLEAN -> false;
        };
    }

    /** Sets a field that is not repeated, unless it is absent. */
    private void setField(
        DynamicMessage.Builder builder, ProtobufField field, SpecializedGetters row, int i, int precision) {
        if (row.isNullAt(i)) {
            if (field.descriptor.isRequired()) throw failure(field, "the value is NULL, and the field is required.");
            return;
        }
        Object value = toValue(field, row, i, precision);
        if (field.descriptor.hasPresence() || !isDefault(field, value)) builder.setField(field.descriptor, value);
    }

    private static boolean isDefault(ProtobufField field, Object value) {
        if (value instanceof EnumValueDescriptor symbol) return symbol.getNumber() == 0;
        return value.equals(field.descriptor.getDefaultValue());
    }

    private Object toValue(ProtobufField field, SpecializedGetters row, int i, int precision) {
        return switch (field.kind) {
            case ROW -> toMessage(field.message, row.getStruct(i, field.message.byColumn.length), null);
            case WRAPPER -> {
                DynamicMessage.Builder wrapper = DynamicMessage.newBuilder(field.message.descriptor);
                setField(wrapper, field.message.byColumn[0], row, i, precision);
                yield wrapper.buildPartial();
            }
            case TIMESTAMP -> toTimestamp(Times.truncate(row.getLong(i), precision));
            case JSON -> parseJson(field, row.getUTF8String(i).toString());
            default -> toScalar(field, row, i);
        };
    }

    private static Timestamp toTimestamp(long micros) {
        int nanos = (int) Math.floorMod(micros, 1_000_000L) * 1000;
        return Timestamp.newBuilder().setSeconds(Math.floorDiv(micros, 1_000_000L)).setNanos(nanos).build();
    }

    private static Message parseJson(ProtobufField field, String json) {
        Descriptor type = field.descriptor.getMessageType();
        try {
            return ProtobufJson.toMessage(type, json);
        } catch (IOException e) {
            throw failure(field, "the value is not the JSON of a " + type.getFullName() + ": " + e.getMessage());
        }
    }

    private static Object toScalar(ProtobufField field, SpecializedGetters row, int i) {
        return switch (field.descriptor.getJavaType()) {
            case STRING -> row.getUTF8String(i).toString();
            case BYTE_STRING -> ByteString.copyFrom(row.getBinary(i));
            case ENUM -> toSymbol(field.descriptor.getEnumType(), row.get(i, field.type));
            case INT -> field.type instanceof LongType
                ? checkUnsigned(field, BigInteger.valueOf(row.getLong(i)), MAX_UINT32).intValue() : row.getInt(i);
            case LONG -> field.type instanceof DecimalType
                ? checkUnsigned(field, row.getDecimal(i, 20, 0).toJavaBigDecimal().toBigInteger(), MAX_UINT64).longValue()
                : row.getLong(i);
            default -> row.get(i, field.type);
        };
    }

    /** Returns the symbol with a name or number, or the first one if there is none, as in Flink. */
    private static EnumValueDescriptor toSymbol(EnumDescriptor type, Object value) {
        EnumValueDescriptor symbol = null;
        if (value instanceof UTF8String name) {
            symbol = type.findValueByName(name.toString());
        } else if (((Number) value).longValue() == ((Number) value).intValue()) {
            symbol = type.findValueByNumber(((Number) value).intValue());
        }
        return symbol == null ? type.getValues().get(0) : symbol;
    }

    private static BigInteger checkUnsigned(ProtobufField field, BigInteger value, BigInteger limit) {
        if (value.signum() >= 0 && value.compareTo(limit) <= 0) return value;
        String range = value + " is not a number from 0 to " + limit;
        throw failure(field, range + ", the range of the field " + field.descriptor.getFullName() + ".");
    }

    private static RuntimeException failure(ProtobufField field, String reason) {
        return Failures.encode(field.path, "Field '" + field.path + "': " + reason);
    }
}
