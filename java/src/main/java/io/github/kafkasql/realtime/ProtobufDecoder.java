package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadDecoder;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.ErrorHandling;
import org.apache.spark.sql.catalyst.InternalRow;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Decodes messages. */
public final class ProtobufDecoder extends PayloadDecoder {
    private final ProtobufReader reader;
    private final boolean ignoresErrors;

    /** plan: see ProtobufReader, as JSON. */
    public ProtobufDecoder(StructType type, String plan, boolean ignoresErrors, ErrorHandling errors) {
        super(errors);
        this.reader = new ProtobufReader(type, PlanTables.parse(plan));
        this.ignoresErrors = ignoresErrors;
    }

    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        try {
            rows.add(reader.read(payload, 0));
        } catch (Mismatch e) {
            if (!ignoresErrors) throw e;
        }
    }
}
