package kafka_sql;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts a JSON value to a column's value in Spark's internal form, as Flink's default decoder does. */
public final class JsonField implements Serializable {
    private static final Pattern DECIMAL = Pattern.compile("[+-]?(?:\\d+\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?");
    private static final Pattern BASE64 =
        Pattern.compile(
            "(?:[\\x00-\\x20]*+(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*+[\\x00-\\x20]*+");

    final String name;
    private final DataType type;
    private final boolean isNullable;
    private final JsonRules rules;
    private final JsonField[] children;

    JsonField(String name, DataType type, boolean isNullable, JsonRules rules) {
        this.name = name;
        this.type = type;
        this.isNullable = isNullable;
        this.rules = rules;
        if (type instanceof StructType) {
            children = fields((StructType) type, rules);
        } else if (type instanceof ArrayType) {
            ArrayType array = (ArrayType) type;
            children = new JsonField[] {new JsonField("", array.elementType(), array.containsNull(), rules)};
        } else if (type instanceof MapType) {
            MapType map = (MapType) type;
            children = new JsonField[] {new JsonField("", map.valueType(), map.valueContainsNull(), rules)};
        } else {
            children = null;
        }
    }

    static JsonField[] fields(StructType type, JsonRules rules) {
        StructField[] columns = type.fields();
        JsonField[] fields = new JsonField[columns.length];
        for (int i = 0; i < columns.length; i++) {
            fields[i] = new JsonField(columns[i].name(), columns[i].dataType(), columns[i].nullable(), rules);
        }
        return fields;
    }

    static GenericInternalRow convertRow(Object value, JsonField[] fields, JsonRules rules) {
        if (!(value instanceof Map)) throw mismatch(value, "expected a JSON object");
        Map document = (Map) value;
        Object[] row = new Object[fields.length];
        for (int i = 0; i < fields.length; i++) {
            JsonField field = fields[i];
            try {
                Object item = document.get(field.name);
                if (item == null && rules.failOnMissing && !document.containsKey(field.name)) {
                    throw new JsonMismatch(
                        "the field is missing, and '" + rules.missingOption + "' is 'true'", "", true);
                }
                row[i] = field.convertNullable(item);
            } catch (JsonMismatch e) {
                throw e.withPrefix(field.name);
            }
        }
        return new GenericInternalRow(row);
    }

    private Object convertNullable(Object value) {
        Object result = null;
        if (value != null) {
            try {
                result = convert(value);
            } catch (NumberFormatException e) {
                if (!rules.ignoreErrors) throw mismatch(value, e.getMessage());
            } catch (JsonMismatch e) {
                if (e.isMissing || !rules.ignoreErrors) throw e;
            }
        }
        if (result == null && !isNullable) {
            throw new JsonMismatch("is null or missing, but declared NOT NULL", "", true);
        }
        return result;
    }

    private Object convert(Object value) {
        if (type instanceof StructType) return convertRow(value, children, rules);
        if (type instanceof ArrayType) return convertArray(value);
        if (type instanceof MapType) return convertMap(value);
        if (type instanceof StringType) return toUtf8(value);
        if (type instanceof BooleanType) return Boolean.valueOf(isTrue(value));
        if (type instanceof ByteType) return Byte.valueOf((byte) toLong(value, 8, "TINYINT"));
        if (type instanceof ShortType) return Short.valueOf((short) toLong(value, 16, "SMALLINT"));
        if (type instanceof IntegerType) return Integer.valueOf((int) toLong(value, 32, "INT"));
        if (type instanceof LongType) return Long.valueOf(toLong(value, 64, "BIGINT"));
        if (type instanceof DoubleType) return Double.valueOf(parseDouble(value));
        if (type instanceof FloatType) return Float.valueOf(parseFloat(value));
        if (type instanceof DecimalType) return toDecimal(value, (DecimalType) type);
        if (type instanceof DateType) return Integer.valueOf(Times.parseDate(stringOnly(value)));
        if (type instanceof TimestampType) {
            return Long.valueOf(Times.parseTimestamp(stringOnly(value), rules.standard, true));
        }
        if (type instanceof TimestampNTZType) {
            return Long.valueOf(Times.parseTimestamp(stringOnly(value), rules.standard, false));
        }
        if (type instanceof TimeType) return Long.valueOf(Times.parseTime(stringOnly(value)));
        if (type instanceof BinaryType) return toBytes(value);
        throw new IllegalStateException("unsupported type " + type);
    }

    private Object convertArray(Object value) {
        if (!(value instanceof List)) throw mismatch(value, "expected a JSON array");
        List elements = (List) value;
        Object[] result = new Object[elements.size()];
        for (int i = 0; i < result.length; i++) {
            try {
                result[i] = children[0].convertNullable(elements.get(i));
            } catch (JsonMismatch e) {
                throw e.withPrefix("[" + i + "]");
            }
        }
        return new GenericArrayData(result);
    }

    private Object convertMap(Object value) {
        if (!(value instanceof Map)) throw mismatch(value, "expected a JSON object");
        Map entries = (Map) value;
        Object[] keys = new Object[entries.size()];
        Object[] values = new Object[entries.size()];
        int i = 0;
        for (Iterator it = entries.entrySet().iterator(); it.hasNext(); i++) {
            Map.Entry entry = (Map.Entry) it.next();
            keys[i] = toUtf8(entry.getKey());
            try {
                values[i] = children[0].convertNullable(entry.getValue());
            } catch (JsonMismatch e) {
                throw e.withPrefix("[" + entry.getKey() + "]");
            }
        }
        return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
    }

    private UTF8String toUtf8(Object value) {
        String text = value instanceof String ? (String) value : null;
        if (value instanceof JsonDocument.Number) text = ((JsonDocument.Number) value).text;
        if (text == null) text = JsonDocument.compact(value, rules.asDecimals);
        return UTF8String.fromBytes(text.getBytes(StandardCharsets.UTF_8)); // a lone surrogate becomes ?
    }

    /** Returns the text of a string or a number; null for other values. */
    private static String scalarText(Object value) {
        if (value instanceof JsonDocument.Number) return ((JsonDocument.Number) value).text;
        return value instanceof String ? ((String) value).trim() : null;
    }

    /** Returns the text of a string or number as it is; other values raise the same error as an empty string. */
    private static String stringOnly(Object value) {
        if (value instanceof JsonDocument.Number) return ((JsonDocument.Number) value).text;
        return value instanceof String ? (String) value : "";
    }

    private static boolean isTrue(Object value) {
        return Boolean.TRUE.equals(value) || (value instanceof String && "true".equalsIgnoreCase(scalarText(value)));
    }

    private static long toLong(Object value, int bits, String sqlType) {
        long high = bits == 64 ? Long.MAX_VALUE : (1L << (bits - 1)) - 1;
        long low = -high - 1;
        boolean isFractional = value instanceof JsonDocument.Number && !((JsonDocument.Number) value).isIntegral;
        if (isFractional && bits >= 32) {
            double number = Double.parseDouble(((JsonDocument.Number) value).text);
            if (number >= (double) low && number <= (double) high) return (long) number;
        } else if (scalarText(value) != null) {
            try {
                long number = Long.parseLong(scalarText(value));
                if (number >= low && number <= high) return number;
            } catch (NumberFormatException e) {
                // reported below
            }
        }
        throw new NumberFormatException("expected " + sqlType + " (" + low + " to " + high + ")");
    }

    private static double parseDouble(Object value) {
        String text = scalarText(value);
        if (text != null) {
            try {
                return Double.parseDouble(text);
            } catch (NumberFormatException e) {
                // reported below
            }
        }
        throw new NumberFormatException("expected a number");
    }

    private static float parseFloat(Object value) {
        parseDouble(value);
        return Float.parseFloat(scalarText(value));
    }

    private static Decimal toDecimal(Object value, DecimalType type) {
        String text = scalarText(value);
        String expected = "expected DECIMAL(" + type.precision() + ", " + type.scale() + ")";
        if (text == null || !DECIMAL.matcher(text).matches()) throw new NumberFormatException(expected);
        BigDecimal exact;
        try {
            exact = new BigDecimal(text);
        } catch (NumberFormatException e) { // the exponent is out of range
            throw new NumberFormatException(expected);
        }
        long magnitude = (long) exact.precision() - exact.scale() - 1;
        if (exact.signum() != 0 && magnitude >= type.precision() - type.scale()) return null;
        if (exact.signum() == 0 || magnitude < -type.scale() - 1L) exact = BigDecimal.ZERO; // fast for any exponent
        BigDecimal rounded = exact.setScale(type.scale(), RoundingMode.HALF_UP);
        return rounded.precision() > type.precision() ? null : Decimal.apply(rounded, type.precision(), type.scale());
    }

    private static byte[] toBytes(Object value) {
        if (value instanceof String && BASE64.matcher((String) value).matches()) {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < ((String) value).length(); i++) {
                if (((String) value).charAt(i) > ' ') text.append(((String) value).charAt(i));
            }
            java.io.ByteArrayOutputStream out = new java.io.ByteArrayOutputStream();
            int start = 0; // each padded part is decoded separately
            for (int end = 4; end <= text.length(); end += 4) {
                if (end == text.length() || text.charAt(end - 1) == '=') {
                    byte[] part = Base64.getDecoder().decode(text.substring(start, end));
                    out.write(part, 0, part.length);
                    start = end;
                }
            }
            return out.toByteArray();
        }
        throw new NumberFormatException("expected base64 text with padding");
    }

    static JsonMismatch mismatch(Object value, String expected) {
        String text =
            value instanceof JsonDocument.Number
                ? ((JsonDocument.Number) value).text
                : JsonDocument.compact(value, false);
        return new JsonMismatch("found " + shorten(text) + ", " + expected, "", false);
    }

    static String shorten(String text) {
        return text.length() <= 60 ? text : text.substring(0, 57) + "...";
    }
}
