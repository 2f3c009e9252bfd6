package io.github.kafkasql.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/** What {@link TemporalJoiner} knows about a key, besides its versions and the rows that wait. */
final class TemporalKey {
    long number; // of the next row that waits
    long waiting; // rows
    long lastTime; // of the last change that had a time
    boolean hasLastTime, hasVersions;
    long timer = Long.MAX_VALUE; // in milliseconds; Long.MAX_VALUE if none is set

    /** Read a key; null for a new one. */
    static TemporalKey read(byte[] packed) {
        TemporalKey key = new TemporalKey();
        if (packed == null) return key;
        UnsafeRow row = RowPacker.toRow(packed, 6);
        key.number = row.getLong(0);
        key.waiting = row.getLong(1);
        key.lastTime = row.getLong(2);
        key.hasLastTime = row.getBoolean(3);
        key.hasVersions = row.getBoolean(4);
        key.timer = row.getLong(5);
        return key;
    }

    byte[] pack() {
        UnsafeRowWriter writer = new UnsafeRowWriter(6, 0);
        writer.resetRowWriter();
        writer.write(0, number);
        writer.write(1, waiting);
        writer.write(2, lastTime);
        writer.write(3, hasLastTime);
        writer.write(4, hasVersions);
        writer.write(5, timer);
        return writer.getRow().getBytes();
    }

    void setLastTime(long time) {
        lastTime = time;
        hasLastTime = true;
    }

    boolean isEmpty() {
        return !hasVersions && waiting == 0;
    }
}
