package io.github.kafkasql.realtime;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonFactoryBuilder;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Parses the first JSON value of a payload,.
 *
 * <p>A value is a Map, a List, a String, a Number, a Boolean or null. Of repeated names, the last one counts.
 */
public final class JsonDocument {
    private static final JsonFactory FACTORY = createBuilder().enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS).build();
    private static final JsonFactory STRICT =
        createBuilder()
            .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .build();

    /** A number as it is written. */
    public static final class Number {
        public final String text;
        public final boolean isIntegral;

        Number(String text, boolean isIntegral) {
            this.text = text;
            this.isIntegral = isIntegral;
        }
    }

    private static JsonFactoryBuilder createBuilder() {
        int unlimited = Integer.MAX_VALUE;
        JsonFactoryBuilder builder = new JsonFactoryBuilder();
        builder.streamReadConstraints(
            StreamReadConstraints.builder()
                .maxNestingDepth(1000)
                .maxNumberLength(unlimited)
                .maxNameLength(unlimited)
                .maxStringLength(unlimited)
                .build());
        return builder;
    }

    /** Parses a text that is one JSON value, as Python's parser does: NaN is a number, a repeated name is an error. */
    static Object parseText(String text) throws IOException {
        JsonParser parser = STRICT.createParser(text);
        try {
            if (parser.nextToken() == null) throw new IOException("is blank");
            Object value = read(parser);
            if (parser.nextToken() != null) throw new IOException("has more than one value");
            return value;
        } finally {
            parser.close();
        }
    }

    /** Parses a payload in UTF-8; or in UTF-16 or UTF-32 if its first bytes indicate it. */
    public static Object parse(byte[] payload) throws IOException {
        JsonParser parser = createParser(payload);
        try {
            if (parser.nextToken() == null) throw new IOException("is blank, expected a JSON object");
            return read(parser);
        } finally {
            parser.close();
        }
    }

    private static JsonParser createParser(byte[] payload) throws IOException {
        boolean isAscii = true;
        for (int i = 0; i < payload.length; i++) {
            if (payload[i] == 0 && i < 4) return FACTORY.createParser(payload);
            isAscii &= payload[i] > 0;
        }
        boolean hasMark = payload.length >= 2 && ((payload[0] == -2 && payload[1] == -1) || (payload[0] == -1 && payload[1] == -2));
        if (isAscii || hasMark) return FACTORY.createParser(payload);
        try { // Jackson accepts some bytes that are not UTF-8
            String text =
                StandardCharsets.UTF_8.newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(payload))
                    .toString();
            return FACTORY.createParser(text.startsWith("\uFEFF") ? text.substring(1) : text);
        } catch (CharacterCodingException e) {
            throw new IOException("is not utf-8");
        }
    }

    private static Object read(JsonParser parser) throws IOException {
        JsonToken token = parser.currentToken();
        if (token == JsonToken.START_OBJECT) {
            Map fields = new LinkedHashMap();
            while (parser.nextToken() != JsonToken.END_OBJECT) {
                if (parser.currentToken() == null) throw new IOException("ends inside an object");
                String name = parser.currentName();
                parser.nextToken();
                fields.put(name, read(parser));
            }
            return fields;
        }
        if (token == JsonToken.START_ARRAY) {
            List elements = new ArrayList();
            while (parser.nextToken() != JsonToken.END_ARRAY) {
                if (parser.currentToken() == null) throw new IOException("ends inside an array");
                elements.add(read(parser));
            }
            return elements;
        }
        if (token == JsonToken.VALUE_STRING) return parser.getText();
        if (token == JsonToken.VALUE_NUMBER_INT) return new Number(parser.getText(), true);
        if (token == JsonToken.VALUE_NUMBER_FLOAT) return new Number(parser.getText(), false);
        if (token == JsonToken.VALUE_TRUE) return Boolean.TRUE;
        if (token == JsonToken.VALUE_FALSE) return Boolean.FALSE;
        if (token == JsonToken.VALUE_NULL) return null;
        throw new IOException("is not valid JSON");
    }

    private JsonDocument() {}
}
