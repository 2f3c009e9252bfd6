package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's Deduplicate that keeps the first row of each key: the first one that arrives, or the one with the least event
 * time when the watermark passes it. It never changes.
 *
 * <p>The input and the output are those of {@link Ranker}.
 */
final class FirstRowKeeper extends Operator {
    private static final long serialVersionUID = 1;
    private static final byte[] RETURNED = new byte[0]; // the state of a key whose first row was returned

    private final RowOrder order;
    private final boolean isByTime;
    private final boolean dropsLateRows;
    private transient TopRows first;
    private transient ValueState<byte[]> state;

    /**
     * @param order by arrival only, or by one column with the event time
     * @param dropsLateRows whether rows behind the watermark are late; those of another operator are not
     */
    FirstRowKeeper(RowOrder order, boolean dropsLateRows) {
        this.order = order;
        this.dropsLateRows = dropsLateRows;
        isByTime = order.columns().length > 0;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        first = new TopRows(order, 1);
        state = valueState("first");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        byte[] packed = state.get();
        if (packed != null && packed.length == 0) return results(List.of());
        long late = isByTime && dropsLateRows ? timers.getCurrentWatermarkInMs() : Long.MIN_VALUE;
        first.clear();
        if (packed != null) first.read(ByteBuffer.wrap(packed));
        long timer = packed == null ? Long.MAX_VALUE : time(first.rows().get(0).row());
        while (input.hasNext()) {
            UnsafeRow change = RowPacker.toRow(input.next()._1(), 3);
            RankedRow row = order.row(change.getBinary(2), change.getLong(1));
            // no watermark passes a row without a time
            if (!isByTime || (!row.row().isNullAt(order.columns()[0]) && time(row.row()) > late)) first.add(row);
        }
        if (first.size() == 0) return results(List.of());
        if (!isByTime) return finish();
        long time = time(first.rows().get(0).row());
        if (time < timer) {
            if (packed != null) getHandle().deleteTimer(timer);
            getHandle().registerTimer(time);
            state.update(first.write(0).array());
        }
        return results(List.of());
    }

    private long time(UnsafeRow row) {
        return Timers.millis(row.getLong(order.columns()[0]));
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
        first.read(ByteBuffer.wrap(state.get()));
        return finish();
    }

    private Iterator<byte[]> finish() {
        state.update(RETURNED);
        return results(List.of(first.rows().get(0).change(RowKind.INSERT, 1)));
    }
}
