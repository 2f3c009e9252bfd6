package io.github.kafkasql.realtime;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Reads Avro's binary encoding. Throws NumberFormatException with the reason if it is malformed. */
final class AvroInput {
    private static final int INT_SIZE = 5; // bytes
    private static final int LONG_SIZE = 10;

    private final byte[] payload;
    private final ByteBuffer buffer;
    private int position;

    AvroInput(byte[] payload, int position) {
        this.payload = payload;
        this.buffer = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
        this.position = position;
    }

    int position() {
        return position;
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
            if (i == size) throw new NumberFormatException("a number has too many bytes");
            int next = readByte();
            bits |= (next & 0x7FL) << (7 * i);
            if (next >= 0) break;
        }
        if (size == INT_SIZE) bits &= 0xFFFFFFFFL;
        return (bits >>> 1) ^ -(bits & 1);
    }

    byte readByte() {
        skip(1);
        return payload[position - 1];
    }

    float readFloat() {
        skip(4);
        return buffer.getFloat(position - 4);
    }

    double readDouble() {
        skip(8);
        return buffer.getDouble(position - 8);
    }

    byte[] readBytes() {
        return readBytes(readLength());
    }

    byte[] readBytes(long length) {
        skip(length);
        byte[] bytes = new byte[(int) length];
        System.arraycopy(payload, position - bytes.length, bytes, 0, bytes.length);
        return bytes;
    }

    void skipBytes() {
        skip(readLength());
    }

    private long readLength() {
        long length = readLong();
        if (length < 0) throw new NumberFormatException("Malformed data: a length is negative");
        return length;
    }

    /** Returns the number of elements in the next block of an array or map; 0 at its end. */
    long readBlockSize() {
        long count = readLong();
        if (count < 0) { // the block's size in bytes follows
            count = -count;
            readLong();
        }
        return count;
    }

    /** Skips the blocks of an array whose elements take no bytes. */
    void skipBlocks() {
        while (readBlockSize() != 0);
    }

    void checkRemaining(long size) {
        if (size < 0 || size > payload.length - position) {
            throw new NumberFormatException("the payload ends before the value does");
        }
    }

    void skip(long size) {
        checkRemaining(size);
        position += (int) size;
    }
}
