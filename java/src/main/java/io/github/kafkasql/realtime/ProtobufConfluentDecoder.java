package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.ErrorHandling;
import org.apache.spark.sql.catalyst.InternalRow;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/** Decodes messages in Confluent's wire format, where the message's indexes in its file follow the schema's id. */
public final class ProtobufConfluentDecoder extends WireFormatDecoder {
    private static final int MAX_INDEXES_SIZE = 64; // bytes, as in kafka_sql/formats/protobuf_confluent

    private final boolean ignoresErrors;
    private transient Recent recent;

    /** The reader of the last record, because the next one usually has the same message. */
    private static final class Recent {
        final byte[] header;
        final ProtobufReader reader;

        Recent(byte[] header, ProtobufReader reader) {
            this.header = header;
            this.reader = reader;
        }
    }

    /** table: the name under which Python answers requests, see DecodePlans. */
    public ProtobufConfluentDecoder(StructType type, String table, boolean ignoresErrors, ErrorHandling errors) {
        super(type, table, errors);
        this.ignoresErrors = ignoresErrors;
    }

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
        Recent found = recent;
        if (found != null && Arrays.equals(payload, 0, start, found.header, 0, found.header.length)) return found.reader;
        StringBuilder schema = new StringBuilder(schemaId(payload)).append(' ');
        for (int i = HEADER_SIZE; i < start; i++) {
            schema.append(Character.forDigit(payload[i] >> 4 & 15, 16)).append(Character.forDigit(payload[i] & 15, 16));
        }
        ProtobufReader reader = (ProtobufReader) findReader(schema.toString());
        recent = new Recent(Arrays.copyOf(payload, start), reader);
        return reader;
    }

    Object createReader(Map plan) {
        return new ProtobufReader(type, plan);
    }

    /** Returns where the message begins: after the number of its indexes, and the indexes. */
    private static int findMessage(byte[] payload) {
        int limit = Math.min(payload.length, HEADER_SIZE + MAX_INDEXES_SIZE);
        int position = HEADER_SIZE;
        long bits = 0;
        while (true) {
            if (position == limit) throw malformedIndexes();
            int shift = 7 * (position - HEADER_SIZE);
            int digit = payload[position++] & 0x7F;
            if (shift < 56) bits |= (long) digit << shift;
            else if (digit != 0) throw malformedIndexes();
            if (payload[position - 1] >= 0) break;
        }
        long count = (bits >>> 1) ^ -(bits & 1);
        if (count < 0) throw malformedIndexes();
        while (count > 0) {
            if (position == limit) throw malformedIndexes();
            if (payload[position++] >= 0) count--;
        }
        return position;
    }

    private static Mismatch malformedIndexes() {
        return new Mismatch(
            "Unknown data format: expected the indexes of the message after the schema id", "", false);
    }
}
