package io.github.kafkasql.realtime;

import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.*;

/** Encodes each row as one line of CSV, without a line end. */
public final class CsvEncoder extends PayloadEncoder {
    private static final int MAX_CHECKED = 24; // characters beyond which Jackson quotes a string without checking it

    private final int[] precisions;
    private final CsvRules rules;
    private final int minSafe; // the smallest character that needs no quotes
    private final int escape;

    /** precisions: digits of the fractional seconds of each column. */
    public CsvEncoder(StructType type, int[] precisions, CsvRules rules) {
        super(type);
        this.precisions = precisions;
        this.rules = rules;
        this.minSafe = Math.max(rules.separator, rules.quote) + 1;
        this.escape = rules.escape < 0 ? (int) '\\' : rules.escape;
    }

    byte[] encodeRow(InternalRow row) {
        StringBuilder out = new StringBuilder(128);
        StringBuilder text = new StringBuilder();
        StructField[] fields = type.fields();
        for (int i = 0; i < fields.length; i++) {
            if (i > 0) out.append(rules.separator);
            DataType columnType = fields[i].dataType();
            if (row.isNullAt(i)) {
                writeNull(out);
            } else if (columnType instanceof NumericType || columnType instanceof BooleanType) {
                writeScalar(row, i, columnType, 9, out);
            } else {
                text.setLength(0);
                write(row, i, columnType, text);
                quote(text.toString(), out);
            }
        }
        return out.toString().getBytes(StandardCharsets.UTF_8);
    }

    private void writeNull(StringBuilder out) {
        if (rules.nullLiteral != null) out.append(rules.nullLiteral);
    }

    private void write(InternalRow row, int i, DataType columnType, StringBuilder out) {
        if (columnType instanceof ArrayType) {
            ArrayData array = row.getArray(i);
            for (int k = 0; k < array.numElements(); k++) {
                if (k > 0) out.append(rules.elementSeparator);
                writeElement(array, k, ((ArrayType) columnType).elementType(), out);
            }
        } else if (columnType instanceof StructType) {
            StructField[] fields = ((StructType) columnType).fields();
            InternalRow struct = row.getStruct(i, fields.length);
            for (int k = 0; k < fields.length; k++) {
                if (k > 0) out.append(rules.elementSeparator);
                writeElement(struct, k, fields[k].dataType(), out);
            }
        } else {
            writeScalar(row, i, columnType, precisions[i], out);
        }
    }

    private void writeElement(SpecializedGetters values, int i, DataType elementType, StringBuilder out) {
        if (values.isNullAt(i)) {
            writeNull(out);
        } else {
            writeScalar(values, i, elementType, 9, out);
        }
    }

    private void writeScalar(SpecializedGetters row, int i, DataType type, int precision, StringBuilder out) {
        if (type instanceof StringType) {
            out.append(row.getUTF8String(i).toString());
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
            out.append(Double.toString(row.getDouble(i)));
        } else if (type instanceof FloatType) {
            out.append(Float.toString(row.getFloat(i)));
        } else if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            writeDecimal(row.getDecimal(i, decimal.precision(), decimal.scale()).toJavaBigDecimal(), out);
        } else if (type instanceof DateType) {
            Times.writeDate(row.getInt(i), out);
        } else if (type instanceof TimestampType || type instanceof TimestampNTZType) {
            long micros = Times.truncate(row.getLong(i), precision);
            Times.writeTimestamp(micros, "SQL", type instanceof TimestampType, out);
        } else if (type instanceof TimeType) {
            Times.writeTime(Times.truncateTime(row.getLong(i), precision), out);
        } else {
            out.append(Base64.getEncoder().encodeToString(row.getBinary(i)));
        }
    }

    private void writeDecimal(BigDecimal value, StringBuilder out) {
        if (rules.has(CsvRules.PLAIN_DECIMALS)) {
            out.append(value.toPlainString());
        } else {
            out.append(value.signum() == 0 ? "0" : value.stripTrailingZeros().toString());
        }
    }

    /** Writes a string; in quotes where Jackson does (its loose check). */
    private void quote(String text, StringBuilder out) {
        if (rules.quote < 0 || !needsQuotes(text)) {
            out.append(text);
            return;
        }
        out.append((char) rules.quote);
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == rules.quote || c == rules.escape) out.append(c);
            out.append(c);
        }
        out.append((char) rules.quote);
    }

    private boolean needsQuotes(String text) {
        if (text.length() > MAX_CHECKED) return true;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == escape || (c < minSafe && !Character.isSurrogate(c))) return true;
        }
        return false;
    }
}
