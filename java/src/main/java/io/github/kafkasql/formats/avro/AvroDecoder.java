package io.github.kafkasql.formats.avro;

import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.PayloadDecoder;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Decodes payloads in Avro's binary encoding that were written with the schema derived from the table. */
public final class AvroDecoder extends PayloadDecoder {
    private final StructType type;
    private final String schema;
    private transient AvroReader reader;
    private transient AvroInput input;

    public AvroDecoder(StructType type, String schema, ErrorHandling errors) {
        super(errors);
        this.type = type;
        this.schema = schema;
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        if (reader == null) {
            Schema parsed = AvroReader.parse(List.of(schema));
            reader = new AvroReader(type, parsed, parsed);
            input = new AvroInput();
        }
        input.open(payload, 0);
        rows.add(reader.read(input));
    }
}
