package io.github.kafkasql.realtime;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.Charset;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.*;

/** Encodes the value of the only column as a payload; null is a record without a payload. */
public final class RawEncoder extends PayloadEncoder {
    private final String charset;
    private final boolean isBigEndian;
    private final String lineEnd;

    /** lineEnd: what follows a string; may be empty. */
    public RawEncoder(StructType type, String charset, boolean isBigEndian, String lineEnd) {
        super(type);
        this.charset = charset;
        this.isBigEndian = isBigEndian;
        this.lineEnd = lineEnd;
    }

    byte[] encodeRow(InternalRow row) {
        if (row.isNullAt(0)) return null;
        DataType columnType = type.fields()[0].dataType();
        if (columnType instanceof BinaryType) return row.getBinary(0);
        if (columnType instanceof StringType) {
            return (row.getUTF8String(0).toString() + lineEnd).getBytes(Charset.forName(charset));
        }
        ByteBuffer buffer = ByteBuffer.allocate(RawDecoder.size(columnType));
        buffer.order(isBigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
        if (columnType instanceof BooleanType) {
            buffer.put((byte) (row.getBoolean(0) ? 1 : 0));
        } else if (columnType instanceof ByteType) {
            buffer.put(row.getByte(0));
        } else if (columnType instanceof ShortType) {
            buffer.putShort(row.getShort(0));
        } else if (columnType instanceof IntegerType) {
            buffer.putInt(row.getInt(0));
        } else if (columnType instanceof LongType) {
            buffer.putLong(row.getLong(0));
        } else if (columnType instanceof FloatType) {
            buffer.putFloat(row.getFloat(0));
        } else {
            buffer.putDouble(row.getDouble(0));
        }
        return buffer.array();
    }
}
