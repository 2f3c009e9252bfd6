package io.github.kafkasql.state;

import java.nio.ByteBuffer;

/** Times as bytes for keys of the state. The order of the bytes is that of the times. */
final class TimeBytes {
    private TimeBytes() {}

    static byte[] write(long time) {
        return ByteBuffer.allocate(8).putLong(time ^ Long.MIN_VALUE).array();
    }

    /** The time of one of several rows. */
    static byte[] write(long time, long number) {
        return ByteBuffer.allocate(16).putLong(time ^ Long.MIN_VALUE).putLong(number).array();
    }

    static long read(byte[] bytes) {
        return ByteBuffer.wrap(bytes).getLong() ^ Long.MIN_VALUE;
    }
}
