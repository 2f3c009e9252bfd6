package io.github.kafkasql.realtime;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes a payload as the value of the only column, or as one value per line. */
public final class RawDecoder extends PayloadDecoder {
    private final StructField field;
    private final String charset;
    private final boolean isBigEndian;
    private final String delimiter;

    /** delimiter: of the lines; null if the payload is one value. */
    public RawDecoder(StructType type, String charset, boolean isBigEndian, String delimiter, ErrorHandling errors) {
        super(errors);
        this.field = type.fields()[0];
        this.charset = charset;
        this.isBigEndian = isBigEndian;
        this.delimiter = delimiter;
    }

    void decodeRows(byte[] payload, List rows) {
        if (delimiter != null) {
            if (payload != null) addLines(new String(payload, Charset.forName(charset)), rows);
            return;
        }
        if (payload == null && !field.nullable()) {
            throw new Mismatch("the payload is null, but the column is declared NOT NULL", field.name(), true);
        }
        add(payload == null ? null : convert(payload), rows);
    }

    private void addLines(String text, List rows) {
        int end = text.endsWith(delimiter) ? text.length() - delimiter.length() : text.length();
        int start = 0;
        for (int i = text.indexOf(delimiter); i >= 0 && i + delimiter.length() <= end; i = text.indexOf(delimiter, start)) {
            add(UTF8String.fromString(text.substring(start, i)), rows);
            start = i + delimiter.length();
        }
        add(UTF8String.fromString(text.substring(start, end)), rows);
    }

    private static void add(Object value, List rows) {
        rows.add(new GenericInternalRow(new Object[] {value}));
    }

    private Object convert(byte[] payload) {
        DataType type = field.dataType();
        if (type instanceof BinaryType) return payload;
        if (type instanceof StringType) return UTF8String.fromString(new String(payload, Charset.forName(charset)));
        int size = size(type);
        if (payload.length != size) {
            String name = type instanceof ByteType ? "TINYINT" : type.sql();
            String expected = "Size of data received for deserializing " + name + " type is not " + size;
            throw new Mismatch(expected + ": found " + payload.length + " bytes", field.name(), false);
        }
        ByteBuffer buffer = ByteBuffer.wrap(payload).order(isBigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        if (type instanceof BooleanType) return Boolean.valueOf(payload[0] != 0);
        if (type instanceof ByteType) return Byte.valueOf(payload[0]);
        if (type instanceof ShortType) return Short.valueOf(buffer.getShort());
        if (type instanceof IntegerType) return Integer.valueOf(buffer.getInt());
        if (type instanceof LongType) return Long.valueOf(buffer.getLong());
        if (type instanceof FloatType) return Float.valueOf(buffer.getFloat());
        return Double.valueOf(buffer.getDouble());
    }

    static int size(DataType type) {
        if (type instanceof BooleanType || type instanceof ByteType) return 1;
        if (type instanceof ShortType) return 2;
        if (type instanceof IntegerType || type instanceof FloatType) return 4;
        if (type instanceof LongType || type instanceof DoubleType) return 8;
        throw new IllegalStateException("unsupported type " + type);
    }
}
