package io.github.kafkasql.formats.csv;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.dataformat.csv.CsvFactory;
import com.fasterxml.jackson.dataformat.csv.CsvSchema;
import io.github.kafkasql.formats.Converter;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadParser;
import io.github.kafkasql.formats.Scalars;
import io.github.kafkasql.formats.Times;
import io.github.kafkasql.formats.TimestampStandard;
import io.github.kafkasql.formats.TreeDecoder;
import java.io.IOException;
import java.sql.Date;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes the first line of CSV of a payload. A value is a string; those of an ARRAY or ROW are a list of strings. */
public final class CsvDecoder extends TreeDecoder {
    // lenient, and before 1582-10-15 in the Julian calendar
    private static final Converter<String> DATE =
        Scalars.expecting("a date such as '2020-12-30'", text -> (int) Date.valueOf(text).toLocalDate().toEpochDay());
    private static final Converter<String> TIME =
        Scalars.expecting(Times.EXPECTED, text -> Times.parseTime(text, DateTimeFormatter.ISO_LOCAL_TIME));

    private final CsvFactory factory;
    private final CsvSchema schema;
    private final Converter<Object> rowConverter;

    public CsvDecoder(StructType type, CsvOptions options, ErrorHandling errors) {
        super(options.ignoreErrors(), errors);
        this.factory = options.factory();
        this.schema = options.schema(type);
        this.rowConverter = rowConverter(type);
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        try {
            rows.add((InternalRow) rowConverter.convert(read(payload)));
        } catch (Mismatch e) {
            if (!ignoresErrors) throw e;
        }
    }

    private List<Object> read(byte[] payload) {
        String reason;
        try (JsonParser parser = PayloadParser.open(factory, payload)) {
            parser.setSchema(schema);
            if (parser.nextToken() == null) throw new IOException("is empty: no content to map due to end-of-input");
            List<Object> values = new ArrayList<>(schema.size());
            while (parser.nextToken() == JsonToken.FIELD_NAME) {
                boolean isList = parser.nextToken() == JsonToken.START_ARRAY;
                values.add(isList ? readList(parser) : parser.getValueAsString());
            }
            checkRow(values, schema.size());
            return values;
        } catch (Mismatch e) {
            reason = e.reason;
        } catch (IOException e) {
            reason = PayloadParser.reason(e, "CSV");
        }
        throw new Mismatch("Failed to deserialize CSV row: the payload " + reason + ": " + excerpt(payload));
    }

    private static List<String> readList(JsonParser parser) throws IOException {
        List<String> elements = new ArrayList<>();
        while (parser.nextToken() != JsonToken.END_ARRAY) elements.add(parser.getValueAsString());
        return elements;
    }

    @Override
    protected void checkRow(Object value, int count) {
        int size = ((List<?>) value).size();
        if (size < count && !ignoresErrors) {
            throw new Mismatch("row length mismatch. " + count + " fields expected but was " + size + ".");
        }
    }

    @Override
    protected Object field(Object row, int index, String name) {
        List<?> values = (List<?>) row;
        return index < values.size() ? values.get(index) : null;
    }

    @Override
    protected String describe(Object value) {
        return "'" + value + "'";
    }

    @Override
    protected Converter<Object> converter(DataType type) {
        Converter<Object> converter = super.converter(type);
        if (!(type instanceof StructType)) return converter;
        return value -> ((List<?>) value).isEmpty() ? null : converter.convert(value);
    }

    @Override
    protected Converter<Object> scalarConverter(DataType type) {
        if (type instanceof StringType) return value -> UTF8String.fromString((String) value);
        if (type instanceof DateType) return value -> DATE.convert((String) value);
        if (type instanceof TimeType) return value -> TIME.convert((String) value);
        Converter<String> converter = Scalars.converter(type, TimestampStandard.SQL);
        if (type instanceof DecimalType) { // without spaces
            return value -> converter.convert(value.equals(((String) value).trim()) ? (String) value : "");
        }
        boolean isTrimmed =
            type instanceof TimestampType || type instanceof TimestampNTZType || type instanceof BinaryType;
        return value -> converter.convert(isTrimmed ? ((String) value).trim() : (String) value);
    }
}
