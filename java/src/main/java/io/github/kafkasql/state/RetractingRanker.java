package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's Rank (Top-N) of rows that can be retracted: keeps all rows of each key, each with the numbers of the rows that
 * are equal to it.
 *
 * <p>It also keeps the first rows in order, more than it returns. So it reads all rows of a key again only after as many
 * of the first ones were retracted.
 */
final class RetractingRanker extends Ranker {
    private static final long serialVersionUID = 1;
    private static final int SPARE = 64; // rows

    private transient ValueState<byte[]> first; // the next number, the number of rows, and the first rows
    private transient MapState<byte[], byte[]> all; // the numbers of equal rows
    private transient long next;
    private transient long size;

    RetractingRanker(RankRange range, RowOrder order) {
        super(range, order);
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        long limit = range.end() + (long) Math.max(SPARE, range.end());
        top = new TopRows(order, (int) Math.min(Integer.MAX_VALUE, limit));
        first = valueState("first");
        all = mapState("all");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        byte[] packed = first.get();
        read(packed);
        List<RankedRow> before = range.of(top.rows());
        Map<ByteBuffer, Numbers> changed = new HashMap<>();
        for (Change change : Change.readAll(input)) {
            Numbers numbers = changed.computeIfAbsent(
                ByteBuffer.wrap(change.row()), row -> new Numbers(all.getValue(change.row())));
            if (!change.isRetraction()) add(order.row(change.row(), numbers.add(next++)));
            else if (!numbers.isEmpty()) remove(order.row(change.row(), numbers.removeFirst()));
        }
        changed.forEach((row, numbers) -> {
            if (!numbers.isEmpty()) all.updateValue(row.array(), numbers.pack());
            else if (numbers.existed()) all.removeKey(row.array());
        });
        if (top.size() < Math.min(range.end(), size)) readAll();
        if (size > 0) first.update(top.write(16).putLong(0, next).putLong(8, size).array());
        else if (packed != null) first.clear();
        return results(changes(before, range.of(top.rows())));
    }

    private void read(byte[] packed) {
        next = size = 0;
        top.clear();
        if (packed == null) return;
        ByteBuffer buffer = ByteBuffer.wrap(packed);
        next = buffer.getLong();
        size = buffer.getLong();
        top.read(buffer);
    }

    private void add(RankedRow row) {
        // rows after the last one of the first rows are not known unless these are all rows
        if (top.size() == size || top.precedesLast(row)) top.add(row);
        size++;
    }

    private void remove(RankedRow row) {
        top.remove(row);
        size--;
    }

    private void readAll() {
        top.clear();
        Iterator<Tuple2<byte[], byte[]>> rows = all.iterator();
        while (rows.hasNext()) {
            Tuple2<byte[], byte[]> entry = rows.next();
            ByteBuffer numbers = ByteBuffer.wrap(entry._2());
            while (numbers.hasRemaining()) top.add(order.row(entry._1(), numbers.getLong()));
        }
    }

    /** The numbers of equal rows, in the order of their arrival. */
    private static final class Numbers {
        private final boolean existed;
        private final java.util.ArrayDeque<Long> numbers = new java.util.ArrayDeque<>(1);

        Numbers(byte[] packed) {
            existed = packed != null;
            if (!existed) return;
            ByteBuffer buffer = ByteBuffer.wrap(packed);
            while (buffer.hasRemaining()) numbers.add(buffer.getLong());
        }

        boolean existed() {
            return existed;
        }

        boolean isEmpty() {
            return numbers.isEmpty();
        }

        long add(long number) {
            numbers.add(number);
            return number;
        }

        long removeFirst() {
            return numbers.removeFirst();
        }

        byte[] pack() {
            ByteBuffer packed = ByteBuffer.allocate(8 * numbers.size());
            numbers.forEach(packed::putLong);
            return packed.array();
        }
    }
}
