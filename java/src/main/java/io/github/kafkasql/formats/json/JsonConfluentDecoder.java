package io.github.kafkasql.formats.json;

import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.confluent.WireFormatDecoder;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Decodes JSON documents in Confluent's wire format, without looking at their schemas. */
public final class JsonConfluentDecoder extends JsonDecoder {
    public JsonConfluentDecoder(StructType type, JsonOptions options, ErrorHandling errors) {
        super(type, options, errors);
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        try {
            WireFormatDecoder.checkHeader(payload);
        } catch (Mismatch e) {
            if (ignoresErrors) return;
            throw e;
        }
        super.decodeRows(Arrays.copyOfRange(payload, WireFormatDecoder.HEADER_SIZE, payload.length), rows);
    }
}
