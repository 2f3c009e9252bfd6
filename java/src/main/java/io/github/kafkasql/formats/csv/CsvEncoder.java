package io.github.kafkasql.formats.csv;

import com.fasterxml.jackson.dataformat.csv.CsvFactory;
import com.fasterxml.jackson.dataformat.csv.CsvGenerator;
import com.fasterxml.jackson.dataformat.csv.CsvSchema;
import io.github.kafkasql.formats.GeneratorEncoder;
import io.github.kafkasql.formats.TimestampStandard;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.spark.sql.types.StructType;

/** Encodes each row as one line of CSV, without a line end. */
public final class CsvEncoder extends GeneratorEncoder {
    private final CsvFactory factory;
    private final CsvSchema schema;

    /** precisions: digits of the fractional seconds of each column. */
    public CsvEncoder(StructType type, int[] precisions, CsvOptions options) {
        super(type, precisions, TimestampStandard.SQL, options.plainDecimals(), false);
        this.factory = options.factory();
        this.schema = options.schema(type);
    }

    @Override
    protected CsvGenerator createGenerator(ByteArrayOutputStream out) throws IOException {
        CsvGenerator generator = factory.createGenerator(out);
        generator.setSchema(schema);
        return generator;
    }

    @Override
    protected ValueWriter structWriter(StructType type) {
        Fields fields = new Fields(type, null);
        return (values, i, out) -> fields.writeArray(values.getStruct(i, type.length()), out);
    }
}
