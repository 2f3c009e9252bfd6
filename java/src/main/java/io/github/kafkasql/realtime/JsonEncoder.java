package io.github.kafkasql.realtime;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;

/** Encodes a row as a JSON object, with the fields in the order of the columns. */
public final class JsonEncoder extends PayloadEncoder {
    private final int[] precisions;
    private final JsonRules rules;

    /** precisions: digits of the fractional seconds of each column. */
    public JsonEncoder(StructType type, int[] precisions, JsonRules rules) {
        super(type);
        this.precisions = precisions;
        this.rules = rules;
    }

    byte[] encodeRow(InternalRow row) {
        StringBuilder out = new StringBuilder(128);
        writeRow(row, type, out, precisions);
        return out.toString().getBytes(StandardCharsets.UTF_8);
    }

    private void writeRow(InternalRow row, StructType type, StringBuilder out, int[] precisions) {
        StructField[] fields = type.fields();
        char separator = '{';
        for (int i = 0; i < fields.length; i++) {
            boolean isNull = row.isNullAt(i);
            if (isNull && rules.skipNulls) continue;
            out.append(separator);
            separator = ',';
            JsonDocument.quote(fields[i].name(), out);
            out.append(':');
            if (isNull) {
                out.append("null");
            } else {
                write(row, i, fields[i].dataType(), out, precisions == null ? 9 : precisions[i]);
            }
        }
        out.append(separator == '{' ? "{}" : "}");
    }

    private void write(SpecializedGetters row, int i, DataType type, StringBuilder out, int precision) {
        if (type instanceof StructType) {
            StructType struct = (StructType) type;
            writeRow(row.getStruct(i, struct.length()), struct, out, null);
        } else if (type instanceof ArrayType) {
            writeArray(row.getArray(i), ((ArrayType) type).elementType(), out);
        } else if (type instanceof MapType) {
            writeMap(row.getMap(i), ((MapType) type).valueType(), out);
        } else if (type instanceof StringType) {
            JsonDocument.quote(row.getUTF8String(i).toString(), out);
        } else if (type instanceof BooleanType) {
            out.append(row.getBoolean(i));
        } else if (type instanceof ByteType) {
            out.append((int) row.getByte(i));
        } else if (type instanceof ShortType) {
            out.append((int) row.getShort(i));
        } else if (type instanceof IntegerType) {
            out.append(row.getInt(i));
        } else if (type instanceof LongType) {
            out.append(row.getLong(i));
        } else if (type instanceof DoubleType) {
            JsonDocument.writeDouble(Double.toString(row.getDouble(i)), out);
        } else if (type instanceof FloatType) {
            JsonDocument.writeDouble(Float.toString(row.getFloat(i)), out);
        } else if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            writeDecimal(row.getDecimal(i, decimal.precision(), decimal.scale()).toJavaBigDecimal(), out);
        } else {
            out.append('"');
            writeText(row, i, type, out, precision);
            out.append('"');
        }
    }

    private void writeText(SpecializedGetters row, int i, DataType type, StringBuilder out, int precision) {
        if (type instanceof DateType) {
            Times.writeDate(row.getInt(i), out);
        } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
            long micros = Times.truncate(row.getLong(i), precision);
            Times.writeTimestamp(micros, rules.standard, type instanceof TimestampType, out);
        } else if (type instanceof TimeType) {
            Times.writeTime(Times.truncateTime(row.getLong(i), precision), out);
        } else if (type instanceof BinaryType) {
            out.append(Base64.getEncoder().encodeToString(row.getBinary(i)));
        } else {
            throw new IllegalStateException("unsupported type " + type);
        }
    }

    private void writeDecimal(BigDecimal value, StringBuilder out) {
        if (rules.plainDecimals) {
            out.append(value.toPlainString());
        } else {
            out.append(value.signum() == 0 ? "0" : value.stripTrailingZeros().toString());
        }
    }

    private void writeArray(ArrayData array, DataType elementType, StringBuilder out) {
        out.append('[');
        for (int i = 0; i < array.numElements(); i++) {
            if (i > 0) out.append(',');
            if (array.isNullAt(i)) {
                out.append("null");
            } else {
                write(array, i, elementType, out, 9);
            }
        }
        out.append(']');
    }

    private void writeMap(MapData map, DataType valueType, StringBuilder out) {
        ArrayData keys = map.keyArray();
        ArrayData values = map.valueArray();
        out.append('{');
        for (int i = 0; i < map.numElements(); i++) {
            if (i > 0) out.append(',');
            JsonDocument.quote(keys.getUTF8String(i).toString(), out);
            out.append(':');
            if (values.isNullAt(i)) {
                out.append("null");
            } else {
                write(values, i, valueType, out, 9);
            }
        }
        out.append('}');
    }
}
