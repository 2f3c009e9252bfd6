package io.github.kafkasql.formats.protobuf;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.confluent.WireFormatDecoder;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Decodes messages in Confluent's wire format, where the message's indexes in its file follow the schema's id. */
public final class ProtobufConfluentDecoder extends WireFormatDecoder<ProtobufReader> {
    private static final int MAX_INDEXES_SIZE = 64; // bytes, as in kafka_sql/formats/protobuf_confluent
    private static final Map<String, ProtobufReader> READERS = new ConcurrentHashMap<>();

    private final ProtobufOptions options;
    private transient Recent recent;

    /** The reader of the last record, because the next one usually has the same message. */
    private record Recent(byte[] header, ProtobufReader reader) {}

    /** table: the name under which Python answers requests, see WriterSchemas. */
    public ProtobufConfluentDecoder(StructType type, String table, ProtobufOptions options, ErrorHandling errors) {
        super(type, table, errors);
        this.options = options;
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        try {
            checkHeader(payload);
            int start = findMessage(payload);
            rows.add(reader(payload, start).read(payload, start));
        } catch (Mismatch e) {
            if (!options.ignoresErrors()) throw e;
        }
    }

    private ProtobufReader reader(byte[] payload, int start) {
        if (recent == null || !Arrays.equals(payload, 0, start, recent.header, 0, recent.header.length)) {
            String indexes = HexFormat.of().formatHex(payload, HEADER_SIZE, start);
            ProtobufReader reader = findReader(schemaId(payload) + " " + indexes, READERS);
            recent = new Recent(Arrays.copyOf(payload, start), reader);
        }
        return recent.reader;
    }

    @Override
    protected ProtobufReader createReader(JsonNode answer) {
        byte[] files = Base64.getDecoder().decode(answer.get("files").textValue());
        return new ProtobufReader(
            type, ProtobufMessage.load(files, answer.get("message").textValue()), options.readsDefaults());
    }

    /** Returns where the message begins: after the number of its indexes, and the indexes. */
    private static int findMessage(byte[] payload) {
        int position = endOfNumber(payload, HEADER_SIZE);
        for (long left = indexCount(payload, position); left > 0; left--) position = endOfNumber(payload, position);
        return position;
    }

    private static int endOfNumber(byte[] payload, int position) {
        while (position < Math.min(payload.length, HEADER_SIZE + MAX_INDEXES_SIZE)) {
            if (payload[position++] >= 0) return position;
        }
        throw malformedIndexes();
    }

    private static long indexCount(byte[] payload, int end) {
        long bits = 0;
        for (int i = end - 1; i >= HEADER_SIZE; i--) {
            if (bits >>> 56 != 0) throw malformedIndexes();
            bits = bits << 7 | payload[i] & 0x7F;
        }
        if ((bits & 1) != 0) throw malformedIndexes(); // negative
        return bits >>> 1;
    }

    private static Mismatch malformedIndexes() {
        return new Mismatch(
            "Unknown data format: expected the indexes of the message after the schema id", "", false);
    }
}
