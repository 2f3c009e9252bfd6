package io.github.kafkasql.formats.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import io.github.kafkasql.formats.GeneratorEncoder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.spark.sql.types.StructType;

/** Encodes a row as a JSON object, with the fields in the order of the columns. */
public final class JsonEncoder extends GeneratorEncoder {
    private final JsonFactory factory;

    /** precisions: digits of the fractional seconds of each column. */
    public JsonEncoder(StructType type, int[] precisions, JsonOptions options) {
        super(type, precisions, options.standard(), options.plainDecimals(), options.skipNulls());
        this.factory =
            JsonFactory.builder()
                .enable(JsonWriteFeature.COMBINE_UNICODE_SURROGATES_IN_UTF8)
                .configure(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN, options.plainDecimals())
                .build();
    }

    @Override
    protected JsonGenerator createGenerator(ByteArrayOutputStream out) throws IOException {
        return factory.createGenerator(out);
    }

    @Override
    protected ValueWriter structWriter(StructType type) {
        Fields fields = new Fields(type, null);
        return (values, i, out) -> fields.writeObject(values.getStruct(i, type.length()), out);
    }
}
