package io.github.kafkasql.formats.avro;

import com.fasterxml.jackson.databind.JsonNode;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.confluent.WireFormatDecoder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Decodes Avro payloads in Confluent's wire format. */
public final class AvroConfluentDecoder extends WireFormatDecoder<AvroReader> {
    private static final Map<String, AvroReader> READERS = new ConcurrentHashMap<>();

    private final String schema;
    private transient AvroInput input;

    /** schema: whose fields are the columns. table: the name under which Python answers requests, see WriterSchemas. */
    public AvroConfluentDecoder(StructType type, String schema, String table, ErrorHandling errors) {
        super(type, table, errors);
        this.schema = schema;
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        checkHeader(payload);
        AvroReader reader = findReader(schemaId(payload), READERS);
        if (input == null) input = new AvroInput();
        input.open(payload, HEADER_SIZE);
        rows.add(reader.read(input));
    }

    @Override
    protected AvroReader createReader(JsonNode answer) {
        List<String> texts = new ArrayList<>();
        answer.get("schemas").forEach(text -> texts.add(text.textValue()));
        return new AvroReader(type, AvroReader.parse(List.of(schema)), AvroReader.parse(texts));
    }
}
