package io.github.kafkasql.formats.confluent;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadDecoder;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes payloads in Confluent's wire format, each with the schema that it was written with.
 *
 * @param <R> what decodes the payloads of one schema
 */
public abstract class WireFormatDecoder<R> extends PayloadDecoder {
    public static final int HEADER_SIZE = 5; // a zero byte and the schema's id

    protected final StructType type;
    private final String table;
    private final ConcurrentHashMap<String, String> unreadable = new ConcurrentHashMap<>(); // reasons by schema

    /** table: the name under which Python answers requests, see WriterSchemas. */
    protected WireFormatDecoder(StructType type, String table, ErrorHandling errors) {
        super(errors);
        this.type = type;
        this.table = table;
    }

    /** Returns the reader of a schema. answer: Python's. Throws RuntimeException with the reason if there is none. */
    protected abstract R createReader(JsonNode answer);

    /** Throws Mismatch if a payload has no header. */
    public static void checkHeader(byte[] payload) {
        if (payload.length < HEADER_SIZE || payload[0] != 0) {
            throw new Mismatch(
                "Unknown data format. Magic number does not match: expected a zero byte and the four bytes of a "
                    + "schema id before the record (schema ids in headers, such as __value_schema_id, are not "
                    + "supported); the payload is: " + hexExcerpt(payload, 0),
                "",
                false);
        }
    }

    protected static String schemaId(byte[] payload) {
        return Integer.toUnsignedString(ByteBuffer.wrap(payload).getInt(1));
    }

    /**
     * Returns the reader of a schema.
     *
     * @param schema its id, and what else Python needs
     * @param readers those of this JVM; the schema of an id never changes
     */
    protected final R findReader(String schema, Map<String, R> readers) {
        String key = table + " " + schema;
        R known = readers.get(key);
        if (known != null) return known;
        String reason = unreadable.get(schema);
        if (reason == null) {
            JsonNode answer = WriterSchemas.request(table, schema);
            if (!answer.has("reason")) {
                R reader = createReader(answer);
                readers.put(key, reader);
                return reader;
            }
            reason = answer.get("reason").textValue();
            unreadable.put(schema, reason);
        }
        throw new Mismatch(reason, "", false);
    }
}
