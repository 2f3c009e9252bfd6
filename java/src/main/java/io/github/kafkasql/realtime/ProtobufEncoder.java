package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadEncoder;
import io.github.kafkasql.formats.Failures;
import io.github.kafkasql.formats.Times;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;

/** Encodes rows as messages, with the fields in the order of their numbers. */
public final class ProtobufEncoder extends PayloadEncoder {
    private static final byte[] EMPTY = new byte[0];
    private static final int NANOS_TAG = 2 << 3; // of google.protobuf.Timestamp
    private static final int SECONDS_TAG = 1 << 3;

    private final ProtobufMessage message;
    private final int[] precisions;
    private final byte[] nullLiteral;

    /**
     * precisions: digits of the fractional seconds of each column. plan: see kafka_sql/realtime/protobuf_plans.py, as
     * JSON. nullLiteral: what a null string in an ARRAY or MAP is written as.
     */
    public ProtobufEncoder(StructType type, int[] precisions, String plan, String nullLiteral) {
        super(type);
        this.message = new ProtobufMessage((Map) PlanTables.parse(plan).get("message"), type);
        this.precisions = precisions;
        this.nullLiteral = nullLiteral.getBytes(StandardCharsets.UTF_8);
    }

    public byte[] encodeRow(InternalRow row) {
        ProtobufOutput out = new ProtobufOutput();
        writeFields(message, row, precisions, out);
        return out.toBytes();
    }

    /** precisions: null inside a ROW, where times are not rounded. */
    private void writeFields(ProtobufMessage message, InternalRow row, int[] precisions, ProtobufOutput out) {
        for (int i = message.fields.length - 1; i >= 0; i--) {
            ProtobufField field = message.fields[i];
            if (field.column < 0 || isReplaced(field, row)) continue;
            int precision = precisions == null ? 9 : precisions[field.column];
            if (!field.isRepeated) writeField(field, row, field.column, precision, out);
            else if (!row.isNullAt(field.column)) writeElements(field, row, out);
        }
    }

    /** Returns whether a later column of its oneof is written instead, as in Flink. */
    private static boolean isReplaced(ProtobufField field, InternalRow row) {
        for (int i = 0; i < field.laterColumns.length; i++) {
            if (!row.isNullAt(field.laterColumns[i])) return true;
        }
        return false;
    }

    private void writeElements(ProtobufField field, InternalRow row, ProtobufOutput out) {
        if (field.isMap) {
            writeMap(field, row.getMap(field.column), out);
            return;
        }
        ArrayData array = row.getArray(field.column);
        int previousSize = out.size();
        for (int i = array.numElements() - 1; i >= 0; i--) {
            boolean isNull = array.isNullAt(i);
            if (isNull && field.isMessage()) out.writeVarint(0);
            else if (isNull) writeNull(field, out);
            else writeValue(field, array, i, 9, out);
            if (!field.isPacked) out.writeVarint(tag(field));
        }
        if (field.isPacked && array.numElements() > 0) {
            out.writeHeader(previousSize, (long) field.number << 3 | ProtobufInput.LEN);
        }
    }

    private void writeMap(ProtobufField field, MapData map, ProtobufOutput out) {
        ProtobufField[] entry = field.message.fields;
        for (int i = map.numElements() - 1; i >= 0; i--) {
            int previousSize = out.size();
            writeField(entry[1], map.valueArray(), i, 9, out);
            writeField(entry[0], map.keyArray(), i, 9, out);
            out.writeHeader(previousSize, tag(field));
        }
    }

    /** Writes a field that is not repeated, unless it is absent. */
    private void writeField(ProtobufField field, SpecializedGetters row, int i, int precision, ProtobufOutput out) {
        if (!row.isNullAt(i)) {
            if (field.presence == ProtobufField.IMPLICIT && isDefault(field, row, i)) return;
            writeValue(field, row, i, precision, out);
        } else if (field.presence == ProtobufField.REQUIRED) {
            throw failure(field, "the value is NULL, and the field is required.");
        } else if (field.presence != ProtobufField.ALWAYS) {
            return;
        } else if (field.isMessage()) {
            out.writeVarint(0);
        } else {
            writeNull(field, out);
        }
        out.writeVarint(tag(field));
    }

    private static long tag(ProtobufField field) {
        return (long) field.number << 3 | field.wireType;
    }

    private void writeNull(ProtobufField field, ProtobufOutput out) {
        if (field.valueType == ProtobufField.BYTES_VALUE) out.writeBytes(field.nullBits == 0 ? EMPTY : nullLiteral);
        else writeNumber(field, field.nullBits, out);
    }

    private static boolean isDefault(ProtobufField field, SpecializedGetters row, int i) {
        if (field.isMessage() || field.isJson) return false;
        if (field.valueType != ProtobufField.BYTES_VALUE) return number(field, row, i) == 0;
        return (field.type instanceof BinaryType ? row.getBinary(i).length : row.getUTF8String(i).numBytes()) == 0;
    }

    private void writeValue(ProtobufField field, SpecializedGetters row, int i, int precision, ProtobufOutput out) {
        if (field.isMessage()) {
            int previousSize = out.size();
            writeMessage(field, row, i, precision, out);
            out.writeVarint(out.size() - previousSize);
        } else if (field.isJson) {
            try {
                out.writeBytes(ProtobufJson.toMessage(field.messageName, row.getUTF8String(i).toString()));
            } catch (IllegalArgumentException e) {
                throw failure(field, "the value is not the JSON of a " + field.messageName + ": " + e.getMessage());
            }
        } else if (field.valueType != ProtobufField.BYTES_VALUE) {
            writeNumber(field, number(field, row, i), out);
        } else {
            out.writeBytes(field.type instanceof BinaryType ? row.getBinary(i) : row.getUTF8String(i).getBytes());
        }
    }

    private void writeMessage(ProtobufField field, SpecializedGetters row, int i, int precision, ProtobufOutput out) {
        if (field.isWrapper) {
            writeField(field.message.fields[0], row, i, precision, out);
        } else if (field.isTimestamp) {
            long micros = Times.truncate(row.getLong(i), precision);
            long nanos = Math.floorMod(micros, 1000000L) * 1000;
            long seconds = Math.floorDiv(micros, 1000000L);
            if (nanos != 0) {
                out.writeVarint(nanos);
                out.writeVarint(NANOS_TAG);
            }
            if (seconds != 0) {
                out.writeVarint(seconds);
                out.writeVarint(SECONDS_TAG);
            }
        } else {
            writeFields(field.message, row.getStruct(i, field.message.byColumn.length), null, out);
        }
    }

    private static long number(ProtobufField field, SpecializedGetters row, int i) {
        DataType type = field.type;
        if (type instanceof StringType) return field.enumNumber(row.getUTF8String(i));
        if (field.isEnum()) return field.enumNumber(integer(type, row, i));
        if (type instanceof BooleanType) return row.getBoolean(i) ? 1 : 0;
        if (type instanceof FloatType) return Float.floatToRawIntBits(row.getFloat(i));
        if (type instanceof DoubleType) return Double.doubleToRawLongBits(row.getDouble(i));
        if (type instanceof DecimalType) return unsigned(field, row.getDecimal(i, 20, 0).toJavaBigDecimal()).longValue();
        long number = integer(type, row, i);
        if (field.unsignedLimit != null && number >>> 32 != 0) unsigned(field, BigDecimal.valueOf(number));
        return number;
    }

    private static long integer(DataType type, SpecializedGetters row, int i) {
        if (type instanceof IntegerType) return row.getInt(i);
        if (type instanceof LongType) return row.getLong(i);
        return type instanceof ShortType ? row.getShort(i) : row.getByte(i);
    }

    private static BigInteger unsigned(ProtobufField field, BigDecimal number) {
        BigInteger value = number.toBigInteger();
        if (value.signum() >= 0 && value.compareTo(field.unsignedLimit) <= 0) return value;
        String range = value + " is not a number from 0 to " + field.unsignedLimit;
        throw failure(field, range + ", the range of the field " + field.fullName + ".");
    }

    private static void writeNumber(ProtobufField field, long number, ProtobufOutput out) {
        int type = field.valueType;
        if (type == ProtobufField.FIXED32 || type == ProtobufField.LONG_AS_FIXED32) {
            out.writeFixed(number, 4);
        } else if (type == ProtobufField.FIXED64 || type == ProtobufField.DECIMAL_AS_FIXED64) {
            out.writeFixed(number, 8);
        } else if (type == ProtobufField.UNSIGNED) {
            out.writeVarint(number & 0xFFFFFFFFL);
        } else if (type == ProtobufField.ZIGZAG) {
            out.writeVarint(((number << 1) ^ (number >> 31)) & 0xFFFFFFFFL);
        } else if (type == ProtobufField.ZIGZAG_LONG) {
            out.writeVarint((number << 1) ^ (number >> 63));
        } else {
            out.writeVarint(number);
        }
    }

    private static RuntimeException failure(ProtobufField field, String reason) {
        return Failures.encode("Field '" + field.path + "': " + reason);
    }
}
