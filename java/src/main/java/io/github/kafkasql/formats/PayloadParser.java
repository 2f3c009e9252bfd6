package io.github.kafkasql.formats;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.types.UTF8String;

/** Opens Jackson's parsers on payloads. */
public final class PayloadParser {
    /** Only nesting is limited. Numbers of any length are read as text, so that their time is linear. */
    public static final StreamReadConstraints CONSTRAINTS =
        StreamReadConstraints.builder()
            .maxNestingDepth(1000)
            .maxNumberLength(Integer.MAX_VALUE)
            .maxNameLength(Integer.MAX_VALUE)
            .maxStringLength(Integer.MAX_VALUE)
            .build();

    private static final JsonMapper OPTIONS =
        JsonMapper.builder().propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE).build();

    public static <T> T parseOptions(String json, Class<T> type) {
        try {
            return OPTIONS.readValue(json, type);
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /** Opens a payload in UTF-8; or in UTF-16 or UTF-32 if its first bytes indicate it. Throws if it is malformed. */
    public static JsonParser open(JsonFactory factory, byte[] payload) throws IOException {
        Charset charset = detectCharset(payload);
        if (charset == StandardCharsets.UTF_8 && isUtf8(payload)) return factory.createParser(payload);
        try {
            String text = charset.newDecoder().decode(ByteBuffer.wrap(payload)).toString();
            // Java accepts surrogates in UTF-32
            if (StandardCharsets.UTF_8.newEncoder().canEncode(text)) return factory.createParser(text);
        } catch (CharacterCodingException e) {
            // reported below
        }
        throw new IOException("is not " + charset.name().toLowerCase());
    }

    private static boolean isUtf8(byte[] payload) {
        for (byte b : payload) {
            if (b < 0) return UTF8String.fromBytes(payload).isValid();
        }
        return true;
    }

    /** Detects the character set as Jackson does. */
    private static Charset detectCharset(byte[] payload) {
        int length = payload.length;
        if (length >= 4) {
            int first = ByteBuffer.wrap(payload).getInt();
            if (first == 0x0000FEFF || first == 0xFFFE0000) return Charset.forName("UTF-32");
            if (first >>> 16 == 0xFEFF || first >>> 16 == 0xFFFE) return StandardCharsets.UTF_16;
            if (first >>> 8 == 0 && first != 0) return Charset.forName("UTF-32BE");
            if (first << 8 == 0 && first != 0) return Charset.forName("UTF-32LE");
        }
        if (length >= 2 && payload[0] == 0) return StandardCharsets.UTF_16BE;
        if (length >= 2 && payload[1] == 0) return StandardCharsets.UTF_16LE;
        return StandardCharsets.UTF_8;
    }

    /** Returns why a payload could not be parsed, as a predicate. */
    public static String reason(IOException e, String format) {
        return e instanceof JsonProcessingException error
            ? "is not valid " + format + ": " + error.getOriginalMessage()
            : e.getMessage();
    }

    private PayloadParser() {}
}
