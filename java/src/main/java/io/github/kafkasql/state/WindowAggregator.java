package io.github.kafkasql.state;

import java.util.List;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's WindowAggregate over changes: returns the result of a group once, when the watermark passes its window, and then
 * forgets the group. The last instant of the window is a column of the key.
 */
final class WindowAggregator extends GroupAggregator {
    private static final long serialVersionUID = 1;

    private final int keyColumns;
    private final int timeColumn; // of the key: the last instant of the window
    private final boolean dropsLateRows;

    /**
     * @param dropsLateRows whether rows can be behind the watermark. Those of an operator that waits for the watermark are
     *     not, although the watermark has reached their times.
     */
    WindowAggregator(
            StructType arguments, AggregateCall[] calls, StructType results, int keyColumns, int timeColumn,
            boolean dropsLateRows) {
        super(arguments, calls, results);
        this.keyColumns = keyColumns;
        this.timeColumn = timeColumn;
        this.dropsLateRows = dropsLateRows;
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        long time = RowPacker.toRow(key, keyColumns).getLong(timeColumn);
        if (dropsLateRows && time <= Times.micros(timers.getCurrentWatermarkInMs())) return results(List.of());
        boolean exists = load();
        if (addAll(input) && !exists) getHandle().registerTimer(Times.timer(time));
        return results(List.of());
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
        if (!load()) return results(List.of()); // all rows were retracted
        byte[] result = packResult(key);
        clear(true);
        return results(List.of(new Change(RowKind.INSERT, 0, result).pack()));
    }
}
