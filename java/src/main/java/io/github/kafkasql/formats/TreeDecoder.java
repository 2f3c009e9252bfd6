package io.github.kafkasql.formats;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes payloads that Jackson parses: a value is a map, a list, null, or what the format has for the other types. */
public abstract class TreeDecoder extends PayloadDecoder {
    protected final boolean ignoresErrors;

    protected TreeDecoder(boolean ignoresErrors, ErrorHandling errors) {
        super(errors);
        this.ignoresErrors = ignoresErrors;
    }

    /** Returns the converter to a type without fields or elements. */
    protected abstract Converter<Object> scalarConverter(DataType type);

    /** Throws Mismatch if a value is not a row with a number of fields. */
    protected abstract void checkRow(Object value, int count);

    /** Returns the value of a field of a row. */
    protected abstract Object field(Object row, int index, String name);

    /** Returns the text of a value for an error. */
    protected abstract String describe(Object value);

    protected final Mismatch mismatch(Object value, String expected) {
        return new Mismatch("found " + shorten(describe(value)) + ", " + expected);
    }

    protected Converter<Object> converter(DataType type) {
        if (type instanceof StructType struct) return rowConverter(struct);
        if (type instanceof ArrayType array) {
            return listConverter(nullableConverter(array.elementType(), array.containsNull()));
        }
        if (type instanceof MapType map) return mapConverter(nullableConverter(map.valueType(), map.valueContainsNull()));
        return scalarConverter(type);
    }

    protected final Converter<Object> rowConverter(StructType type) {
        String[] names = type.fieldNames();
        List<Converter<Object>> fields =
            Arrays.stream(type.fields()).map(field -> nullableConverter(field.dataType(), field.nullable())).toList();
        return value -> {
            checkRow(value, names.length);
            Object[] row = new Object[names.length];
            for (int i = 0; i < row.length; i++) {
                try {
                    row[i] = fields.get(i).convert(field(value, i, names[i]));
                } catch (Mismatch e) {
                    throw e.withPrefix(names[i]);
                }
            }
            return new GenericInternalRow(row);
        };
    }

    private Converter<Object> nullableConverter(DataType type, boolean isNullable) {
        Converter<Object> converter = converter(type);
        return value -> {
            Object result = null;
            try {
                if (value != null) result = converter.convert(value);
            } catch (NumberFormatException e) {
                if (!ignoresErrors) throw mismatch(value, e.getMessage());
            } catch (Mismatch e) {
                if (e.isMissing || !ignoresErrors) throw e;
            }
            if (result == null && !isNullable) throw new Mismatch("is null or missing, but declared NOT NULL", "", true);
            return result;
        };
    }

    private static Converter<Object> listConverter(Converter<Object> converter) {
        return value -> {
            if (!(value instanceof List<?> list)) throw new NumberFormatException("expected a JSON array");
            Object[] elements = new Object[list.size()];
            for (int i = 0; i < elements.length; i++) elements[i] = convertElement(converter, list.get(i), i);
            return new GenericArrayData(elements);
        };
    }

    private static Converter<Object> mapConverter(Converter<Object> converter) {
        return value -> {
            if (!(value instanceof Map<?, ?> map)) throw new NumberFormatException("expected a JSON object");
            Map<Object, Object> entries = new LinkedHashMap<>();
            map.forEach((key, item) ->
                entries.put(UTF8String.fromString((String) key), convertElement(converter, item, key)));
            return new ArrayBasedMapData(
                new GenericArrayData(entries.keySet().toArray()), new GenericArrayData(entries.values().toArray()));
        };
    }

    private static Object convertElement(Converter<Object> converter, Object value, Object position) {
        try {
            return converter.convert(value);
        } catch (Mismatch e) {
            throw e.withPrefix("[" + position + "]");
        }
    }
}
