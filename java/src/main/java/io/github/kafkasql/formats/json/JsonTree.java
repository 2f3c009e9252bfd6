package io.github.kafkasql.formats.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.SerializerProvider;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.module.SimpleModule;
import com.fasterxml.jackson.databind.ser.std.StdSerializer;
import io.github.kafkasql.formats.DecimalText;
import io.github.kafkasql.formats.PayloadParser;
import java.io.IOException;

/** Parses the first JSON value of a payload to maps, lists, strings, booleans, nulls and numbers. */
final class JsonTree {
    private static final JsonMapper DOUBLES = createMapper(false);
    private static final JsonMapper DECIMALS = createMapper(true);

    /** A number as it is written. Java's classes would need a time that is quadratic in its digits. */
    static final class NumberText extends Number {
        final String text;
        final boolean isIntegral;

        NumberText(String text, boolean isIntegral) {
            this.text = text;
            this.isIntegral = isIntegral;
        }

        @Override
        public double doubleValue() {
            return Double.parseDouble(text);
        }

        @Override
        public float floatValue() {
            return Float.parseFloat(text);
        }

        @Override
        public long longValue() {
            return (long) doubleValue();
        }

        @Override
        public int intValue() {
            return (int) doubleValue();
        }
    }

    /** Of repeated names, the last one counts. */
    static Object parse(byte[] payload) throws IOException {
        try (JsonParser parser = PayloadParser.open(DOUBLES.getFactory(), payload)) {
            if (parser.nextToken() == null) throw new IOException("is blank, expected a JSON object");
            return DOUBLES.readValue(parser, Object.class);
        }
    }

    /** Writes a value without white space. asDecimals: numbers with a fraction are BigDecimals without trailing zeros. */
    static String compact(Object value, boolean asDecimals) {
        try {
            return (asDecimals ? DECIMALS : DOUBLES).writeValueAsString(value);
        } catch (JsonProcessingException e) {
            if (e.getCause() instanceof NumberFormatException cause) throw cause; // see DecimalText
            throw new IllegalStateException(e);
        }
    }

    private static JsonMapper createMapper(boolean asDecimals) {
        JsonFactory factory =
            JsonFactory.builder()
                .streamReadConstraints(PayloadParser.CONSTRAINTS)
                .enable(JsonReadFeature.ALLOW_UNESCAPED_CONTROL_CHARS)
                .build();
        return JsonMapper.builder(factory)
            .addModule(new SimpleModule()
                .addDeserializer(Number.class, new NumberReader())
                .addSerializer(NumberText.class, new NumberWriter(asDecimals)))
            .build();
    }

    private static final class NumberReader extends StdDeserializer<Number> {
        NumberReader() {
            super(Number.class);
        }

        @Override
        public Number deserialize(JsonParser parser, DeserializationContext context) throws IOException {
            return new NumberText(parser.getText(), parser.currentToken() == JsonToken.VALUE_NUMBER_INT);
        }
    }

    private static final class NumberWriter extends StdSerializer<NumberText> {
        private final boolean asDecimals;

        NumberWriter(boolean asDecimals) {
            super(NumberText.class);
            this.asDecimals = asDecimals;
        }

        @Override
        public void serialize(NumberText number, JsonGenerator out, SerializerProvider provider) throws IOException {
            if (number.isIntegral) out.writeNumber(number.text.equals("-0") ? "0" : number.text);
            else if (asDecimals) out.writeNumber(new DecimalText(number.text).toString());
            else out.writeNumber(number.doubleValue());
        }
    }

    private JsonTree() {}
}
