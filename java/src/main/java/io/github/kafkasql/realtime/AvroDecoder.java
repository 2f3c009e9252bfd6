package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadDecoder;
import io.github.kafkasql.formats.ErrorHandling;
import org.apache.spark.sql.catalyst.InternalRow;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Decodes payloads in Avro's binary encoding that were written with the schema derived from the table. */
public final class AvroDecoder extends PayloadDecoder {
    private final AvroReader reader;

    /** plan: see AvroReader, as JSON. */
    public AvroDecoder(StructType type, String plan, ErrorHandling errors) {
        super(errors);
        this.reader = new AvroReader(type, PlanTables.parse(plan));
    }

    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload != null) rows.add(reader.read(payload, 0));
    }
}
