package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's Rank (Top-N) of rows that are never retracted: keeps the first rows of each key, and returns by how much they
 * differ from those before the micro-batch. The deduplication that keeps the last row is one.
 *
 * <p>The input are rows of {@link Change}, whose order is that of their arrival. The output are rows of {@link
 * RankedRow#change}.
 */
class Ranker extends Operator {
    private static final long serialVersionUID = 1;

    final RankRange range;
    final RowOrder order;
    transient TopRows top;
    private transient ValueState<byte[]> state;

    Ranker(RankRange range, RowOrder order) {
        this.range = range;
        this.order = order;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        top = new TopRows(order, range.end());
        state = valueState("top");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        read();
        List<RankedRow> before = range.of(top.rows());
        if (!addRows(input)) return results(List.of());
        write();
        return results(changes(before, range.of(top.rows())));
    }

    /** Read the first rows of the current key, and return their state: null for a new key. */
    final byte[] read() {
        byte[] packed = state.get();
        if (packed == null) top.clear();
        else top.read(ByteBuffer.wrap(packed));
        return packed;
    }

    final void write() {
        state.update(top.write(0).array());
    }

    final void clear() {
        state.clear();
    }

    /** Add the rows that belong to the first ones, and return whether there is one. */
    final boolean addRows(Iterator<Tuple2<byte[], byte[]>> input) {
        boolean isChanged = false;
        while (input.hasNext()) {
            UnsafeRow change = RowPacker.toRow(input.next()._1(), 3);
            UnsafeRow row = change.getStruct(2, order.type().length());
            // most rows are not among the first ones: these are not copied
            if (top.size() == range.end() && !top.precedesLast(new RankedRow(null, row, change.getLong(1)))) continue;
            isChanged |= top.add(order.row(change.getBinary(2), change.getLong(1)));
        }
        return isChanged;
    }

    /** The changes between the ranked rows before and after a micro-batch. */
    final List<byte[]> changes(List<RankedRow> before, List<RankedRow> now) {
        List<byte[]> changes = new ArrayList<>(2);
        if (range.isByRank()) addByRank(before, now, changes);
        else addSetDifference(before, now, changes);
        return changes;
    }

    private void addByRank(List<RankedRow> before, List<RankedRow> now, List<byte[]> changes) {
        int common = Math.min(before.size(), now.size());
        for (int i = 0; i < common; i++) {
            RankedRow old = before.get(i);
            RankedRow row = now.get(i);
            if (Arrays.equals(old.bytes(), row.bytes())) continue;
            if (range.returnsOldRows()) changes.add(old.change(RowKind.UPDATE_BEFORE, range.start() + i));
            changes.add(row.change(RowKind.UPDATE_AFTER, range.start() + i));
        }
        for (int i = common; i < before.size(); i++)
            changes.add(before.get(i).change(RowKind.DELETE, range.start() + i));
        for (int i = common; i < now.size(); i++) changes.add(now.get(i).change(RowKind.INSERT, range.start() + i));
    }

    private static void addSetDifference(List<RankedRow> before, List<RankedRow> now, List<byte[]> changes) {
        Map<ByteBuffer, Integer> counts = new LinkedHashMap<>();
        for (RankedRow row : before) counts.merge(ByteBuffer.wrap(row.bytes()), 1, Integer::sum);
        for (RankedRow row : now) counts.merge(ByteBuffer.wrap(row.bytes()), -1, Integer::sum);
        for (RankedRow row : before) if (takeOne(counts, row, 1)) changes.add(row.change(RowKind.DELETE, 0));
        for (RankedRow row : now) if (takeOne(counts, row, -1)) changes.add(row.change(RowKind.INSERT, 0));
    }

    private static boolean takeOne(Map<ByteBuffer, Integer> counts, RankedRow row, int sign) {
        ByteBuffer bytes = ByteBuffer.wrap(row.bytes());
        int count = counts.get(bytes) * sign;
        if (count > 0) counts.put(bytes, (count - 1) * sign);
        return count > 0;
    }
}
