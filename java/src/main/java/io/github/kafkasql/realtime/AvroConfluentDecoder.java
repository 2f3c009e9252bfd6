package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.ErrorHandling;
import org.apache.spark.sql.catalyst.InternalRow;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructType;

/** Decodes Avro payloads in Confluent's wire format. */
public final class AvroConfluentDecoder extends WireFormatDecoder {
    /** table: the name under which Python answers requests, see DecodePlans. */
    public AvroConfluentDecoder(StructType type, String table, ErrorHandling errors) {
        super(type, table, errors);
    }

    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        checkHeader(payload);
        AvroReader reader = (AvroReader) findReader(schemaId(payload));
        rows.add(reader.read(payload, HEADER_SIZE));
    }

    Object createReader(Map plan) {
        return new AvroReader(type, plan);
    }
}
