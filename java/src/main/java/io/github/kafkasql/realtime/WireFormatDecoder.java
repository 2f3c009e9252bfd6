package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadDecoder;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.ErrorHandling;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes payloads in Confluent's wire format, each with the schema that it was written with.
 *
 * <p>The driver's Python process asks the registry, and resolves each schema against the table's columns.
 */
public abstract class WireFormatDecoder extends PayloadDecoder {
    public static final int HEADER_SIZE = 5; // a zero byte and the schema's id
    // readers of this JVM, by table and schema; the schema of an id never changes
    private static final ConcurrentHashMap READERS = new ConcurrentHashMap();

    final StructType type;
    private final String table;
    private final ConcurrentHashMap unreadable = new ConcurrentHashMap(); // schemas and reasons

    /** table: the name under which Python answers requests, see DecodePlans. */
    WireFormatDecoder(StructType type, String table, ErrorHandling errors) {
        super(errors);
        this.type = type;
        this.table = table;
    }

    /** Returns the reader of a plan. */
    abstract Object createReader(Map plan);

    /** Throws Mismatch if a payload has no header. */
    public static void checkHeader(byte[] payload) {
        if (payload.length < HEADER_SIZE || payload[0] != 0) {
            throw new Mismatch(
                "Unknown data format. Magic number does not match: expected a zero byte and the four bytes of a "
                    + "schema id before the record (schema ids in headers, such as __value_schema_id, are not "
                    + "supported); the payload is: " + AvroReader.hexadecimal(payload),
                "",
                false);
        }
    }

    static String schemaId(byte[] payload) {
        long id = 0;
        for (int i = 1; i < HEADER_SIZE; i++) id = id << 8 | payload[i] & 0xFF;
        return Long.toString(id);
    }

    /** Returns the reader of a schema. schema: its id, and what else Python needs. */
    final Object findReader(String schema) {
        String key = table + " " + schema;
        Object reader = READERS.get(key);
        if (reader != null) return reader;
        String reason = (String) unreadable.get(schema);
        if (reason == null) {
            Map answer = DecodePlans.request(table, schema);
            reason = (String) answer.get("reason");
            if (reason == null) {
                reader = createReader(answer);
                READERS.put(key, reader);
                return reader;
            }
            unreadable.put(schema, reason);
        }
        throw new Mismatch(reason, "", false);
    }
}
