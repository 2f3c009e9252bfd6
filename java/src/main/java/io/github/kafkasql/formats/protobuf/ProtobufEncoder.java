package io.github.kafkasql.formats.protobuf;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Timestamp;
import com.google.protobuf.WireFormat;
import io.github.kafkasql.formats.Failures;
import io.github.kafkasql.formats.PayloadEncoder;
import io.github.kafkasql.formats.Times;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;

/** Encodes rows as messages, with the fields in the order of their numbers. */
public final class ProtobufEncoder extends PayloadEncoder {
    private static final int MAX_LENGTH_SIZE = 5; // bytes
    private static final BigInteger MAX_UINT32 = BigInteger.valueOf(0xFFFFFFFFL);
    private static final BigInteger MAX_UINT64 = BigInteger.ONE.shiftLeft(64).subtract(BigInteger.ONE);

    private final int[] precisions;
    private final byte[] files;
    private final String messageName;
    private final byte[] nullLiteral;
    private transient ProtobufMessage message;
    private transient byte[] buffer;

    /** Writes what is in a message or in another value with a length. */
    @FunctionalInterface
    private interface Content {
        void write(Output out) throws IOException;
    }

    /** Writes to the buffer, from an offset on. */
    private final class Output {
        private final int offset;
        private final CodedOutputStream stream;

        Output(int offset) {
            this.offset = offset;
            this.stream = CodedOutputStream.newInstance(buffer, offset, buffer.length - offset);
        }

        /** Writes content behind the place for the largest length, then the length, and moves the content there. */
        void writeWithLength(Content content) throws IOException {
            int start = Math.min(buffer.length, offset + stream.getTotalBytesWritten() + MAX_LENGTH_SIZE);
            Output out = new Output(start);
            content.write(out);
            int size = out.stream.getTotalBytesWritten();
            stream.writeUInt32NoTag(size);
            stream.write(buffer, start, size);
        }
    }

    /**
     * precisions: digits of the fractional seconds of each column. files: see ProtobufMessage. nullLiteral: what a null
     * string in an ARRAY or MAP is written as.
     */
    public ProtobufEncoder(StructType type, int[] precisions, byte[] files, String messageName, String nullLiteral) {
        super(type);
        this.precisions = precisions;
        this.files = files;
        this.messageName = messageName;
        this.nullLiteral = nullLiteral.getBytes(StandardCharsets.UTF_8);
    }

    @Override
    public byte[] encodeRow(InternalRow row) {
        if (message == null) {
            Descriptor descriptor = ProtobufMessage.load(files, messageName);
            buffer = new byte[256];
            message = new ProtobufMessage(descriptor, type, null, "", new ProtobufMessage.Columns(false));
        }
        while (true) {
            try {
                Output out = new Output(0);
                writeFields(message, row, precisions, out);
                return Arrays.copyOf(buffer, out.stream.getTotalBytesWritten());
            } catch (CodedOutputStream.OutOfSpaceException e) {
                buffer = new byte[Math.multiplyExact(2, buffer.length)];
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }


    /** precisions: null inside a ROW, where times are not rounded. */
    private void writeFields(ProtobufMessage message, InternalRow row, int[] precisions, Output out)
        throws IOException {
        for (ProtobufField field : message.fields) {
            if (field.column < 0 || isReplaced(field, message, row)) continue;
            int precision = precisions == null ? 9 : precisions[field.column];
            if (!field.isRepeated) writeField(field, row, field.column, precision, out);
            else if (row.isNullAt(field.column)) continue;
            else if (field.kind == ProtobufField.Kind.MAP) writeMap(field, row.getMap(field.column), out);
            else writeElements(field, row.getArray(field.column), out);
        }
    }

    /** Returns whether a later column of its oneof is written instead, as in Flink. */
    private static boolean isReplaced(ProtobufField field, ProtobufMessage message, InternalRow row) {
        for (int i = field.column + 1; field.oneof >= 0 && i < message.byColumn.length; i++) {
            if (message.byColumn[i].oneof == field.oneof && !row.isNullAt(i)) return true;
        }
        return false;
    }

    private void writeElements(ProtobufField field, ArrayData array, Output out) throws IOException {
        boolean isPacked = field.descriptor.isPacked();
        if (isPacked && array.numElements() > 0) {
            out.stream.writeTag(field.number, WireFormat.WIRETYPE_LENGTH_DELIMITED);
            out.writeWithLength(content -> {
                for (int i = 0; i < array.numElements(); i++) writeElement(field, array, i, content);
            });
        }
        for (int i = 0; i < array.numElements() && !isPacked; i++) {
            out.stream.writeTag(field.number, field.wireType);
            writeElement(field, array, i, out);
        }
    }

    private void writeElement(ProtobufField field, SpecializedGetters array, int i, Output out)
        throws IOException {
        if (array.isNullAt(i)) writeNull(field, out);
        else writeValue(field, array, i, 9, out);
    }

    private void writeMap(ProtobufField field, MapData map, Output out) throws IOException {
        ProtobufField[] entry = field.message.byColumn;
        for (int k = 0; k < map.numElements(); k++) {
            int i = k;
            out.stream.writeTag(field.number, field.wireType);
            out.writeWithLength(content -> {
                content.stream.writeTag(entry[0].number, entry[0].wireType);
                writeElement(entry[0], map.keyArray(), i, content);
                content.stream.writeTag(entry[1].number, entry[1].wireType);
                writeElement(entry[1], map.valueArray(), i, content);
            });
        }
    }

    /** Writes a field that is not repeated, unless it is absent. */
    private void writeField(ProtobufField field, SpecializedGetters row, int i, int precision, Output out)
        throws IOException {
        if (row.isNullAt(i)) {
            if (field.descriptor.isRequired()) throw failure(field, "the value is NULL, and the field is required.");
        } else if (field.descriptor.hasPresence() || !isDefault(field, row, i)) {
            out.stream.writeTag(field.number, field.wireType);
            writeValue(field, row, i, precision, out);
        }
    }

    /** Writes null inside an ARRAY or MAP: an empty message or value, or the first value of an enum. */
    private void writeNull(ProtobufField field, Output out) throws IOException {
        FieldDescriptor.Type type = field.descriptor.getType();
        if (type == FieldDescriptor.Type.STRING) out.stream.writeByteArrayNoTag(nullLiteral);
        else if (field.wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED) out.stream.writeUInt32NoTag(0);
        else writeNumber(type, field.isEnum() ? field.firstNumber() : 0, out.stream);
    }

    private static boolean isDefault(ProtobufField field, SpecializedGetters row, int i) {
        if (field.type instanceof BinaryType) return row.getBinary(i).length == 0;
        if (field.descriptor.getType() == FieldDescriptor.Type.STRING) return row.getUTF8String(i).numBytes() == 0;
        return toNumber(field, row, i) == 0;
    }

    private void writeValue(ProtobufField field, SpecializedGetters row, int i, int precision, Output out)
        throws IOException {
        switch (field.kind) {
            case ROW -> {
                InternalRow struct = row.getStruct(i, field.message.byColumn.length);
                out.writeWithLength(content -> writeFields(field.message, struct, null, content));
            }
            case WRAPPER -> out.writeWithLength(
                content -> writeField(field.message.byColumn[0], row, i, precision, content));
            case TIMESTAMP -> out.stream.writeMessageNoTag(toTimestamp(Times.truncate(row.getLong(i), precision)));
            case JSON -> out.stream.writeByteArrayNoTag(toMessage(field, row.getUTF8String(i).toString()));
            default -> writeScalar(field, row, i, out);
        }
    }

    private static Timestamp toTimestamp(long micros) {
        int nanos = (int) Math.floorMod(micros, 1_000_000L) * 1000;
        return Timestamp.newBuilder().setSeconds(Math.floorDiv(micros, 1_000_000L)).setNanos(nanos).build();
    }

    private static byte[] toMessage(ProtobufField field, String json) {
        Descriptor type = field.descriptor.getMessageType();
        try {
            return ProtobufJson.toMessage(type, json);
        } catch (IOException e) {
            throw failure(field, "the value is not the JSON of a " + type.getFullName() + ": " + e.getMessage());
        }
    }

    private static void writeScalar(ProtobufField field, SpecializedGetters row, int i, Output out)
        throws IOException {
        switch (field.descriptor.getType()) {
            case STRING -> out.stream.writeByteArrayNoTag(row.getUTF8String(i).getBytes());
            case BYTES -> out.stream.writeByteArrayNoTag(row.getBinary(i));
            default -> writeNumber(field.descriptor.getType(), toNumber(field, row, i), out.stream);
        }
    }

    /** Returns a number, or its bits. */
    private static long toNumber(ProtobufField field, SpecializedGetters row, int i) {
        DataType type = field.type;
        if (type instanceof StringType) return field.findNumber(row.getUTF8String(i));
        if (type instanceof BooleanType) return row.getBoolean(i) ? 1 : 0;
        if (type instanceof FloatType) return Float.floatToRawIntBits(row.getFloat(i));
        if (type instanceof DoubleType) return Double.doubleToRawLongBits(row.getDouble(i));
        if (type instanceof DecimalType) {
            BigInteger value = row.getDecimal(i, 20, 0).toJavaBigDecimal().toBigInteger();
            return checkUnsigned(field, value, MAX_UINT64).longValue();
        }
        long number = type instanceof IntegerType ? row.getInt(i) : type instanceof LongType ? row.getLong(i)
            : type instanceof ShortType ? row.getShort(i) : row.getByte(i);
        if (field.isEnum()) return number == (int) number && field.isKnown(number) ? number : field.firstNumber();
        boolean isLarge = number >>> 32 != 0;
        if (isLarge && isUnsigned32(field)) checkUnsigned(field, BigInteger.valueOf(number), MAX_UINT32);
        return number;
    }

    private static boolean isUnsigned32(ProtobufField field) {
        FieldDescriptor.Type type = field.descriptor.getType();
        boolean isUnsigned = type == FieldDescriptor.Type.UINT32 || type == FieldDescriptor.Type.FIXED32;
        return isUnsigned && field.type instanceof LongType;
    }

    private static BigInteger checkUnsigned(ProtobufField field, BigInteger value, BigInteger limit) {
        if (value.signum() >= 0 && value.compareTo(limit) <= 0) return value;
        String range = value + " is not a number from 0 to " + limit;
        throw failure(field, range + ", the range of the field " + field.descriptor.getFullName() + ".");
    }

    private static void writeNumber(FieldDescriptor.Type type, long number, CodedOutputStream out) throws IOException {
        switch (type) {
            case FIXED32, SFIXED32, FLOAT -> out.writeFixed32NoTag((int) number);
            case FIXED64, SFIXED64, DOUBLE -> out.writeFixed64NoTag(number);
            case SINT32 -> out.writeSInt32NoTag((int) number);
            case SINT64 -> out.writeSInt64NoTag(number);
            case UINT32 -> out.writeUInt32NoTag((int) number);
            default -> out.writeUInt64NoTag(number); // a negative int has ten bytes
        }
    }

    private static RuntimeException failure(ProtobufField field, String reason) {
        return Failures.encode(field.path, "Field '" + field.path + "': " + reason);
    }
}
