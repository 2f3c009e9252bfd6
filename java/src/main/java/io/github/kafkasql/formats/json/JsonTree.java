package io.github.kafkasql.formats.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import io.github.kafkasql.formats.DecimalText;
import io.github.kafkasql.formats.PayloadParser;
import java.io.IOException;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parses the first JSON value of a payload to maps, lists, strings, booleans, nulls and numbers. */
final class JsonTree {
    private static final JsonFactory FACTORY =
        JsonFactory.builder()
            .streamReadConstraints(PayloadParser.CONSTRAINTS)
            .enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
            .build();

    /** A number as it is written. Java's classes would need a time that is quadratic in its digits. */
    record NumberText(String text, boolean isIntegral) {}

    static Object parse(byte[] payload) throws IOException {
        try (JsonParser parser = PayloadParser.open(FACTORY, payload)) {
            if (parser.nextToken() == null) throw new IOException("is blank, expected a JSON object");
            return read(parser);
        }
    }

    /** Of repeated names, the last one counts. */
    private static Object read(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        switch (token) {
            case START_OBJECT:
                Map<String, Object> object = new LinkedHashMap<>();
                while (parser.nextToken() != JsonToken.END_OBJECT) {
                    String name = parser.currentName();
                    parser.nextToken();
                    object.put(name, read(parser));
                }
                return object;
            case START_ARRAY:
                List<Object> array = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) array.add(read(parser));
                return array;
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT:
                return new NumberText(parser.getText(), token == JsonToken.VALUE_NUMBER_INT);
            case VALUE_TRUE, VALUE_FALSE:
                return token == JsonToken.VALUE_TRUE;
            default:
                return parser.getValueAsString(); // null for null
        }
    }

    /** Writes a value without white space. asDecimals: numbers with a fraction are BigDecimals without trailing zeros. */
    static String compact(Object value, boolean asDecimals) {
        StringWriter text = new StringWriter();
        try (JsonGenerator out = FACTORY.createGenerator(text)) {
            write(value, asDecimals, out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text.toString();
    }

    private static void write(Object value, boolean asDecimals, JsonGenerator out) throws IOException {
        if (value instanceof Map<?, ?> object) {
            out.writeStartObject();
            for (Map.Entry<?, ?> entry : object.entrySet()) {
                out.writeFieldName((String) entry.getKey());
                write(entry.getValue(), asDecimals, out);
            }
            out.writeEndObject();
        } else if (value instanceof List<?> array) {
            out.writeStartArray();
            for (Object element : array) write(element, asDecimals, out);
            out.writeEndArray();
        } else if (value instanceof NumberText number) {
            if (number.isIntegral) out.writeNumber(number.text.equals("-0") ? "0" : number.text);
            else if (asDecimals) out.writeNumber(new DecimalText(number.text).toString());
            else out.writeNumber(Double.parseDouble(number.text));
        } else {
            out.writeObject(value);
        }
    }

    private JsonTree() {}
}
