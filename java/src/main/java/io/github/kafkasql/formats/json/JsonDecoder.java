package io.github.kafkasql.formats.json;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import io.github.kafkasql.formats.Converter;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadParser;
import io.github.kafkasql.formats.Scalars;
import io.github.kafkasql.formats.TreeDecoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes a JSON payload: an object is one row, an array of objects becomes one row per object. */
public class JsonDecoder extends TreeDecoder {
    private final JsonOptions options;
    private final Converter<Object> rowConverter;

    public JsonDecoder(StructType type, JsonOptions options, ErrorHandling errors) {
        super(options.ignoreErrors(), errors);
        this.options = options;
        this.rowConverter = rowConverter(type);
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null || payload.length == 0) return;
        Object document;
        try {
            document = JsonTree.parse(payload);
        } catch (IOException e) {
            if (ignoresErrors) return;
            throw new Mismatch("the payload " + PayloadParser.reason(e, "JSON") + ": " + excerpt(payload));
        }
        for (Object element : document instanceof List<?> list ? list : Collections.singletonList(document)) {
            if (element == null && document != null) continue; // a null in an array is not a row in Flink
            try {
                rows.add((InternalRow) rowConverter.convert(element));
            } catch (Mismatch e) {
                if (ignoresErrors) continue;
                if (!e.isMissing) throw e;
                throw new Mismatch(e.reason + "; the payload is: " + excerpt(payload), e.path, true);
            }
        }
    }

    @Override
    protected void checkRow(Object value, int count) {
        if (!(value instanceof Map)) throw mismatch(value, "expected a JSON object");
    }

    @Override
    protected Object field(Object row, int index, String name) {
        Map<?, ?> object = (Map<?, ?>) row;
        Object value = object.get(name);
        if (value == null && options.failOnMissing() && !object.containsKey(name)) {
            throw new Mismatch("the field is missing, and '" + options.missingOption() + "' is 'true'", "", true);
        }
        return value;
    }

    @Override
    protected String describe(Object value) {
        return value instanceof JsonTree.NumberText number ? number.text() : JsonTree.compact(value, false);
    }

    @Override
    protected Converter<Object> scalarConverter(DataType type) {
        if (type instanceof StringType) return value -> UTF8String.fromString(toText(value)); // a lone surrogate becomes ?
        Converter<String> converter = Scalars.converter(type, options.standard());
        if (type instanceof BinaryType) return value -> converter.convert(value instanceof String text ? text : "?");
        if (type instanceof BooleanType) {
            return value -> value instanceof Boolean ? value : converter.convert(scalarText(value));
        }
        if (type instanceof IntegerType || type instanceof LongType) {
            Converter<String> truncating = Scalars.truncatingConverter(type);
            return value ->
                (value instanceof JsonTree.NumberText number && !number.isIntegral() ? truncating : converter)
                    .convert(scalarText(value));
        }
        return value -> converter.convert(scalarText(value));
    }

    private String toText(Object value) {
        if (value instanceof String text) return text;
        return value instanceof JsonTree.NumberText number ? number.text() : JsonTree.compact(value, options.hasDecimals());
    }

    /** Returns the text of a string or a number; another value raises the same error as an empty string. */
    private static String scalarText(Object value) {
        if (value instanceof JsonTree.NumberText number) return number.text();
        return value instanceof String text ? text : "";
    }
}
