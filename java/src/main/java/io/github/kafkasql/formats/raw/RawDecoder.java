package io.github.kafkasql.formats.raw;

import io.github.kafkasql.formats.Converter;
import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.Charset;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes a payload as the value of the only column, or as one value per line. */
public final class RawDecoder extends PayloadDecoder {
    private final StructField field;
    private final RawOptions options;
    private final Converter<byte[]> converter;

    public RawDecoder(StructType type, RawOptions options, ErrorHandling errors) {
        super(errors);
        this.field = type.fields()[0];
        this.options = options;
        this.converter = createConverter(field.dataType());
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (options.lineDelimiter() != null) {
            if (payload != null) addLines(decodeText(payload), options.lineDelimiter(), rows);
            return;
        }
        if (payload == null && !field.nullable()) {
            throw new Mismatch("the payload is null, but the column is declared NOT NULL", field.name(), true);
        }
        add(payload == null ? null : converter.convert(payload), rows);
    }

    private static void addLines(String text, String delimiter, List<InternalRow> rows) {
        int end = text.endsWith(delimiter) ? text.length() - delimiter.length() : text.length();
        int start = 0;
        for (int i = text.indexOf(delimiter); i >= 0 && i + delimiter.length() <= end; i = text.indexOf(delimiter, start)) {
            add(UTF8String.fromString(text.substring(start, i)), rows);
            start = i + delimiter.length();
        }
        add(UTF8String.fromString(text.substring(start, end)), rows);
    }

    private static void add(Object value, List<InternalRow> rows) {
        rows.add(new GenericInternalRow(new Object[] {value}));
    }

    private String decodeText(byte[] payload) {
        return new String(payload, Charset.forName(options.charset()));
    }

    private Converter<byte[]> createConverter(DataType type) {
        if (type instanceof BinaryType) return payload -> payload;
        if (type instanceof StringType) return payload -> UTF8String.fromString(decodeText(payload));
        if (type instanceof BooleanType) return payload -> sized(payload).get() != 0;
        if (type instanceof ByteType) return payload -> sized(payload).get();
        if (type instanceof ShortType) return payload -> sized(payload).getShort();
        if (type instanceof IntegerType) return payload -> sized(payload).getInt();
        if (type instanceof LongType) return payload -> sized(payload).getLong();
        if (type instanceof FloatType) return payload -> sized(payload).getFloat();
        if (type instanceof DoubleType) return payload -> sized(payload).getDouble();
        throw new IllegalStateException("unsupported type " + type);
    }

    /** Returns the bytes of a number, after checking how many there are. */
    private ByteBuffer sized(byte[] payload) {
        DataType type = field.dataType();
        int size = RawOptions.size(type);
        if (payload.length == size) return options.buffer(payload);
        String name = type instanceof ByteType ? "TINYINT" : type.sql();
        String expected = "Size of data received for deserializing " + name + " type is not " + size;
        throw new Mismatch(expected + ": found " + payload.length + " bytes", field.name(), false);
    }
}
