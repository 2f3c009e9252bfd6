package io.github.kafkasql.realtime;

import java.util.Arrays;

/** Writes protobuf's wire format backward, because a message's length precedes it. */
final class ProtobufOutput {
    private byte[] buffer = new byte[128];
    private int start = buffer.length;

    /** Returns the number of bytes that have been written. */
    int size() {
        return buffer.length - start;
    }

    byte[] toBytes() {
        return Arrays.copyOfRange(buffer, start, buffer.length);
    }

    private void reserve(int size) {
        if (size > start) {
            int used = size();
            byte[] larger = new byte[Math.max(2 * buffer.length, Math.addExact(used, size))];
            System.arraycopy(buffer, start, larger, larger.length - used, used);
            start = larger.length - used;
            buffer = larger;
        }
        start -= size;
    }

    void writeVarint(long bits) {
        int size = 1;
        for (long rest = bits >>> 7; rest != 0; rest >>>= 7) size++;
        reserve(size);
        for (int i = 0; i < size - 1; i++) {
            buffer[start + i] = (byte) (bits & 0x7F | 0x80);
            bits >>>= 7;
        }
        buffer[start + size - 1] = (byte) bits;
    }

    /** Writes the lower bytes of a number, the lowest one first. */
    void writeFixed(long bits, int size) {
        reserve(size);
        for (int i = 0; i < size; i++) buffer[start + i] = (byte) (bits >>> (8 * i));
    }

    /** Writes bytes and their length. */
    void writeBytes(byte[] bytes) {
        reserve(bytes.length);
        System.arraycopy(bytes, 0, buffer, start, bytes.length);
        writeVarint(bytes.length);
    }

    /** Writes the length and the tag of what has been written since the output had a size. */
    void writeHeader(int previousSize, long tag) {
        writeVarint(size() - previousSize);
        writeVarint(tag);
    }
}
