package io.github.kafkasql.formats.json;

import com.fasterxml.jackson.core.JsonGenerator;
import io.github.kafkasql.formats.GeneratorEncoder;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.spark.sql.types.StructType;

/** Encodes a row as a JSON object, with the fields in the order of the columns. */
public final class JsonEncoder extends GeneratorEncoder {
    /** precisions: digits of the fractional seconds of each column. */
    public JsonEncoder(StructType type, int[] precisions, JsonOptions options) {
        super(type, precisions, options.standard(), options.plainDecimals(), options.skipNulls());
    }

    @Override
    protected JsonGenerator createGenerator(ByteArrayOutputStream out) throws IOException {
        return JsonTree.factory().createGenerator(out);
    }

    @Override
    protected ValueWriter structWriter(StructType type) {
        Fields fields = new Fields(type, null);
        return (values, i, out) -> fields.writeObject(values.getStruct(i, type.length()), out);
    }
}
