package io.github.kafkasql.state;

import java.util.ArrayDeque;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * What the state keeps of the rows of an OVER window that will not change: the accumulators of unbounded frames, and the
 * arguments of the rows in bounded ones. Rows outside of all frames are removed.
 */
final class OverRows {
    private final OverWindow window;
    private final int[] unbounded;
    private final long precedingRows;
    private final long precedingTime;
    private final ValueState<byte[]> header; // the next number, the number of rows, and the accumulators
    private final MapState<byte[], byte[]> state; // arguments, by time and number
    private ArrayDeque<Kept> rows;
    private long number;
    private long stored; // rows in the state

    /** The arguments of a row. */
    private record Kept(byte[] key, UnsafeRow arguments, long time, boolean isStored) {}

    OverRows(OverWindow window, ValueState<byte[]> header, MapState<byte[], byte[]> state) {
        this.window = window;
        this.header = header;
        this.state = state;
        unbounded = window.unbounded();
        precedingRows = window.precedingRows();
        precedingTime = window.precedingTime();
    }

    /** Read the state of the current key. */
    void begin() {
        byte[] packed = window.frames.length == 0 ? null : header.get();
        UnsafeRow read = packed == null ? null : RowPacker.toRow(packed, 2 + unbounded.length);
        for (OverFrame frame : window.frames) if (frame.isBounded()) frame.begin(null);
        for (int i = 0; i < unbounded.length; i++)
            window.frames[unbounded[i]].begin(read == null ? null : read.getBinary(2 + i));
        number = read == null ? 0 : read.getLong(0);
        stored = read == null ? 0 : read.getLong(1);
        rows = new ArrayDeque<>();
        if (stored == 0) return;
        Iterator<Tuple2<byte[], byte[]>> entries = state.iterator(); // in the order of the keys' bytes
        while (entries.hasNext()) {
            Tuple2<byte[], byte[]> entry = entries.next();
            UnsafeRow arguments = RowPacker.toRow(entry._2(), window.argumentCount);
            long time = TimeBytes.read(entry._1());
            rows.add(new Kept(entry._1(), arguments, time, true));
            for (OverFrame frame : window.frames) if (frame.isBounded()) frame.add(arguments, time);
        }
    }

    /**
     * Add rows that follow all rows before, and return them with their results, as packed rows of two binary columns.
     *
     * @param peers rows with an equal place in the order
     */
    void add(List<UnsafeRow> peers, long time, List<byte[]> output) {
        List<UnsafeRow> arguments = peers.stream().map(window::arguments).toList();
        List<byte[]> results = window.add(arguments, time);
        for (int i = 0; i < results.size(); i++) output.add(pack(peers.get(i).getBytes(), results.get(i)));
        if (precedingRows == 0 && precedingTime < 0) return;
        for (UnsafeRow row : arguments) rows.add(new Kept(TimeBytes.write(time, number++), row, time, false));
        removeOutside(time);
    }

    static byte[] pack(byte[] row, byte[] results) {
        var writer = new UnsafeRowWriter(2, row.length + results.length + 16);
        writer.resetRowWriter();
        writer.write(0, row);
        writer.write(1, results);
        return writer.getRow().getBytes();
    }

    /** Remove the rows that are in no frame of a row at a time or later. */
    private void removeOutside(long time) {
        while (rows.size() > precedingRows && (precedingTime < 0 || rows.getFirst().time() < time - precedingTime)) {
            Kept row = rows.removeFirst();
            if (!row.isStored()) continue;
            state.removeKey(row.key());
            stored--;
        }
    }

    /**
     * Write the state of the current key.
     *
     * @param next no row with an earlier time will follow
     * @return the time from which on all rows can be removed; Long.MAX_VALUE if there are none, or they stay
     */
    long save(long next) {
        if (window.frames.length == 0) return Long.MAX_VALUE;
        if (!rows.isEmpty()) removeOutside(next);
        for (Kept row : rows) {
            if (row.isStored()) continue;
            state.updateValue(row.key(), row.arguments().getBytes());
            stored++;
        }
        if (stored == 0 && unbounded.length == 0) header.clear();
        else header.update(packHeader());
        return precedingRows > 0 || rows.isEmpty() ? Long.MAX_VALUE : rows.getLast().time() + precedingTime + 1;
    }

    private byte[] packHeader() {
        var writer = new UnsafeRowWriter(2 + unbounded.length, 64);
        writer.resetRowWriter();
        writer.write(0, number);
        writer.write(1, stored);
        for (int i = 0; i < unbounded.length; i++)
            writer.write(2 + i, window.frames[unbounded[i]].accumulators());
        return writer.getRow().getBytes();
    }
}
