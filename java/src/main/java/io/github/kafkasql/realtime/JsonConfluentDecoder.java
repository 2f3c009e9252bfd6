package io.github.kafkasql.realtime;

import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Decodes JSON documents in Confluent's wire format, without looking at their schemas. */
public final class JsonConfluentDecoder extends PayloadDecoder {
    private final JsonDecoder decoder;
    private final boolean ignoresErrors;

    public JsonConfluentDecoder(StructType type, JsonRules rules, ErrorHandling errors) {
        super(errors);
        this.decoder = new JsonDecoder(type, rules, errors);
        this.ignoresErrors = rules.ignoreErrors;
    }

    void decodeRows(byte[] payload, List rows) {
        if (payload == null) return;
        try {
            WireFormatDecoder.checkHeader(payload);
        } catch (Mismatch e) {
            if (ignoresErrors) return;
            throw e;
        }
        decoder.decodeRows(Arrays.copyOfRange(payload, WireFormatDecoder.HEADER_SIZE, payload.length), rows);
    }
}
