package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's OverAggregate by a column that is not a time attribute: a change of a row also changes the results of the rows
 * after it.
 *
 * <p>The input are rows of {@link Change}. The output are changes of packed rows with the bytes of the row and of its
 * results. A key's rows are all read when one changes; the state is written for rows that change.
 */
final class OverAggregator extends Operator {
    private static final long serialVersionUID = 1;

    private final OverWindow window;
    private transient ValueState<byte[]> next; // the number of the next row
    private transient MapState<byte[], byte[]> state; // rows by number

    /** A row of the partition. Its results before and after the micro-batch are null if it did not or does not exist. */
    private static final class OverRow {
        final long number;
        final UnsafeRow row;
        byte[] before, after;

        OverRow(long number, UnsafeRow row) {
            this.number = number;
            this.row = row;
        }
    }

    OverAggregator(OverWindow window) {
        this.window = window;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        window.open();
        next = valueState("next");
        state = mapState("rows");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        Comparator<OverRow> order = (left, right) -> window.compare(left.row, right.row);
        order = order.thenComparingLong(row -> row.number);
        byte[] number = next.get();
        List<OverRow> before = number == null ? List.of() : readRows();
        List<OverRow> sorted = new ArrayList<>(before);
        sorted.sort(order);
        evaluate(sorted);
        for (OverRow row : sorted) row.before = row.after;
        List<OverRow> added = apply(Change.readAll(input), before, number == null ? 0 : TimeBytes.read(number));
        List<OverRow> now = new ArrayList<>(sorted.size() + added.size());
        for (OverRow row : sorted) if (row.after != null) now.add(row);
        now.addAll(added);
        now.sort(order);
        evaluate(now);
        if (now.isEmpty()) next.clear();
        sorted.removeIf(row -> row.after != null);
        return results(changes(sorted, now));
    }

    private List<OverRow> readRows() {
        List<OverRow> rows = new ArrayList<>();
        Iterator<Tuple2<byte[], byte[]>> entries = state.iterator();
        while (entries.hasNext()) {
            Tuple2<byte[], byte[]> entry = entries.next();
            rows.add(new OverRow(TimeBytes.read(entry._1()), window.row(entry._2())));
        }
        return rows;
    }

    /** Add rows to the state, or remove them, and return those that are new. A row without results was removed. */
    private List<OverRow> apply(List<Change> changes, List<OverRow> before, long first) {
        Map<ByteBuffer, Deque<OverRow>> equal = new HashMap<>();
        boolean retracts = changes.stream().anyMatch(Change::isRetraction);
        if (retracts) for (OverRow row : before) find(equal, row.row.getBytes()).add(row);
        List<OverRow> added = new ArrayList<>();
        long number = first;
        for (Change change : changes) {
            if (!change.isRetraction()) {
                OverRow row = new OverRow(number++, window.row(change.row()));
                added.add(row);
                if (retracts) find(equal, change.row()).add(row);
                continue;
            }
            OverRow row = find(equal, change.row()).poll();
            if (row == null) continue; // an unknown row, as in Flink
            row.after = null;
            if (row.number >= first) added.remove(row);
            else state.removeKey(TimeBytes.write(row.number));
        }
        for (OverRow row : added) state.updateValue(TimeBytes.write(row.number), row.row.getBytes());
        if (!added.isEmpty()) next.update(TimeBytes.write(number));
        return added;
    }

    private static Deque<OverRow> find(Map<ByteBuffer, Deque<OverRow>> equal, byte[] row) {
        return equal.computeIfAbsent(ByteBuffer.wrap(row), bytes -> new ArrayDeque<>());
    }

    /** Compute the results of all rows of a partition, which are sorted. */
    private void evaluate(List<OverRow> rows) {
        for (OverFrame frame : window.frames) frame.begin(null);
        int start = 0;
        for (int i = 1; i <= rows.size(); i++) {
            if (i < rows.size() && window.compare(rows.get(i - 1).row, rows.get(i).row) == 0) continue;
            List<UnsafeRow> peers = rows.subList(start, i).stream().map(row -> window.arguments(row.row)).toList();
            List<byte[]> results = window.add(peers, i); // only rows with an equal order have an equal time
            for (int j = start; j < i; j++) rows.get(j).after = results.get(j - start);
            start = i;
        }
    }

    private static List<byte[]> changes(List<OverRow> removed, List<OverRow> rows) {
        List<byte[]> changes = new ArrayList<>(1);
        for (OverRow row : removed) changes.add(change(RowKind.DELETE, changes.size(), row, row.before));
        for (OverRow row : rows) {
            if (row.before == null) {
                changes.add(change(RowKind.INSERT, changes.size(), row, row.after));
            } else if (!Objects.deepEquals(row.before, row.after)) {
                changes.add(change(RowKind.UPDATE_BEFORE, changes.size(), row, row.before));
                changes.add(change(RowKind.UPDATE_AFTER, changes.size(), row, row.after));
            }
        }
        return changes;
    }

    private static byte[] change(RowKind kind, long order, OverRow row, byte[] results) {
        return new Change(kind, order, OverRows.pack(row.row.getBytes(), results)).pack();
    }
}
