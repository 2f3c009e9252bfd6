package io.github.kafkasql.formats.protobuf;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.CodedInputStream;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.confluent.WireFormatDecoder;
import java.io.IOException;
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

    private final boolean readsDefaults;
    private final boolean ignoresErrors;
    private transient Recent recent;

    /** The reader of the last record, because the next one usually has the same message. */
    private record Recent(byte[] header, ProtobufReader reader) {}

    /**
     * table: the name under which Python answers requests, see WriterSchemas. readsDefaults: whether an absent field is
     * its default, not null.
     */
    public ProtobufConfluentDecoder(
        StructType type, String table, boolean readsDefaults, boolean ignoresErrors, ErrorHandling errors) {
        super(type, table, errors);
        this.readsDefaults = readsDefaults;
        this.ignoresErrors = ignoresErrors;
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        try {
            checkHeader(payload);
            int start = findMessage(payload);
            rows.add(reader(payload, start).read(payload, start));
        } catch (Mismatch e) {
            if (!ignoresErrors) throw e;
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
            type, ProtobufMessage.load(files, answer.get("message").textValue()), readsDefaults);
    }

    /** Returns where the message begins: after the number of its indexes, and the indexes. */
    private static int findMessage(byte[] payload) {
        int size = Math.min(payload.length - HEADER_SIZE, MAX_INDEXES_SIZE);
        CodedInputStream in = CodedInputStream.newInstance(payload, HEADER_SIZE, size);
        try {
            long left = in.readSInt64();
            for (; left > 0; left--) in.readSInt64();
            if (left == 0) return HEADER_SIZE + in.getTotalBytesRead();
        } catch (IOException e) {
            // malformed
        }
        throw new Mismatch(
            "Unknown data format: expected the indexes of the message after the schema id", "", false);
    }
}
