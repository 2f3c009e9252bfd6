package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts a JSON value to a column's value in Spark's internal form, as Flink's default decoder does. */
public final class JsonField implements Serializable {
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
                    throw new Mismatch(
                        "the field is missing, and '" + rules.missingOption + "' is 'true'", "", true);
                }
                row[i] = field.convertNullable(item);
            } catch (Mismatch e) {
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
            } catch (Mismatch e) {
                if (e.isMissing || !rules.ignoreErrors) throw e;
            }
        }
        if (result == null && !isNullable) {
            throw new Mismatch("is null or missing, but declared NOT NULL", "", true);
        }
        return result;
    }

    private Object convert(Object value) {
        if (type instanceof StructType) return convertRow(value, children, rules);
        if (type instanceof ArrayType) return convertArray(value);
        if (type instanceof MapType) return convertMap(value);
        if (type instanceof StringType) return toUtf8(value);
        if (type instanceof BooleanType) return Boolean.valueOf(Boolean.TRUE.equals(value) || Scalars.isTrue(scalarText(value)));
        if (type instanceof ByteType) return Byte.valueOf((byte) toLong(value, 8, "TINYINT"));
        if (type instanceof ShortType) return Short.valueOf((short) toLong(value, 16, "SMALLINT"));
        if (type instanceof IntegerType) return Integer.valueOf((int) toLong(value, 32, "INT"));
        if (type instanceof LongType) return Long.valueOf(toLong(value, 64, "BIGINT"));
        if (type instanceof DoubleType) return Double.valueOf(Scalars.toDouble(scalarText(value)));
        if (type instanceof FloatType) return Float.valueOf(Scalars.toFloat(scalarText(value)));
        if (type instanceof DecimalType) return Scalars.toDecimal(scalarText(value), (DecimalType) type);
        if (type instanceof DateType) return Integer.valueOf(Times.parseDate(scalarText(value)));
        if (type instanceof TimestampType) {
            return Long.valueOf(Times.parseTimestamp(scalarText(value), rules.standard, true));
        }
        if (type instanceof TimestampNTZType) {
            return Long.valueOf(Times.parseTimestamp(scalarText(value), rules.standard, false));
        }
        if (type instanceof TimeType) return Long.valueOf(Times.parseTime(scalarText(value)));
        if (type instanceof BinaryType) return Scalars.toBytes(value instanceof String ? (String) value : null);
        throw new IllegalStateException("unsupported type " + type);
    }

    private Object convertArray(Object value) {
        if (!(value instanceof List)) throw mismatch(value, "expected a JSON array");
        List elements = (List) value;
        Object[] result = new Object[elements.size()];
        for (int i = 0; i < result.length; i++) {
            try {
                result[i] = children[0].convertNullable(elements.get(i));
            } catch (Mismatch e) {
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
            } catch (Mismatch e) {
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

    /** Returns the text of a string or a number; another value raises the same error as an empty string. */
    private static String scalarText(Object value) {
        if (value instanceof JsonDocument.Number) return ((JsonDocument.Number) value).text;
        return value instanceof String ? (String) value : "";
    }

    private static long toLong(Object value, int bits, String sqlType) {
        boolean isFractional = value instanceof JsonDocument.Number && !((JsonDocument.Number) value).isIntegral;
        String text = scalarText(value);
        return isFractional && bits >= 32 ? Scalars.truncate(text, bits, sqlType) : Scalars.toLong(text, bits, sqlType);
    }

    static Mismatch mismatch(Object value, String expected) {
        String text =
            value instanceof JsonDocument.Number
                ? ((JsonDocument.Number) value).text
                : JsonDocument.compact(value, false);
        return new Mismatch("found " + PayloadDecoder.shorten(text) + ", " + expected, "", false);
    }
}
