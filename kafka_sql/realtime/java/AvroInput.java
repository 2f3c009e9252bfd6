package kafka_sql;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads Avro's binary encoding. Throws NumberFormatException with the reason if it is malformed. */
final class AvroInput {
    private static final int INT_SIZE = 5; // bytes
    private static final int LONG_SIZE = 10;

    private final byte[] payload;
    private final ByteBuffer buffer;
    private int position = 0;

    AvroInput(byte[] payload) {
        this.payload = payload;
        this.buffer = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
    }

    int readInt() {
        return (int) readNumber(INT_SIZE);
    }

    long readLong() {
        return readNumber(LONG_SIZE);
    }

    private long readNumber(int size) {
        long bits = 0;
        for (int i = 0; ; i++) {
            if (i == size) throw malformed("a number has too many bytes");
            int next = readByte();
            bits |= (next & 0x7FL) << (7 * i);
            if (next >= 0) break;
        }
        if (size == INT_SIZE) bits &= 0xFFFFFFFFL;
        return (bits >>> 1) ^ -(bits & 1);
    }

    byte readByte() {
        take(1);
        return payload[position - 1];
    }

    float readFloat() {
        take(4);
        return buffer.getFloat(position - 4);
    }

    double readDouble() {
        take(8);
        return buffer.getDouble(position - 8);
    }

    byte[] readBytes() {
        long length = readLong();
        if (length < 0) throw malformed("Malformed data: a length is negative");
        take(length);
        byte[] bytes = new byte[(int) length];
        System.arraycopy(payload, position - bytes.length, bytes, 0, bytes.length);
        return bytes;
    }

    /** Returns the number of elements in the next block of an array or map; 0 at its end. */
    int readBlockSize() {
        long count = readLong();
        if (count < 0) { // the block's size in bytes follows
            count = -count;
            readLong();
        }
        if (count < 0 || count > payload.length - position) throw truncated(); // each element takes at least a byte
        return (int) count;
    }

    private void take(long size) {
        if (size > payload.length - position) throw truncated();
        position += (int) size;
    }

    private NumberFormatException truncated() {
        return malformed("the payload ends before the value does");
    }

    NumberFormatException malformed(String reason) {
        return new NumberFormatException(reason + " (byte " + position + " of " + payload.length + ")");
    }
}
