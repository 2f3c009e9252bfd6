package io.github.kafkasql.state;

import java.util.List;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's WindowRank and WindowDeduplicate: returns the first rows of a window when the watermark closes it. They never
 * change.
 *
 * <p>The last column of the key is the time of the window, its last millisecond.
 */
final class WindowRanker extends Ranker {
    private static final long serialVersionUID = 1;

    private final int keyColumns;
    private final boolean dropsLateRows;

    /**
     * @param keyColumns the number of the key's columns
     * @param dropsLateRows whether rows of closed windows are late; if not, an operator before has dropped these, and
     *     returns its rows when it closes their window
     */
    WindowRanker(RankRange range, RowOrder order, int keyColumns, boolean dropsLateRows) {
        super(range, order);
        this.keyColumns = keyColumns;
        this.dropsLateRows = dropsLateRows;
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        long end = Timers.millis(RowPacker.toRow(key, keyColumns).getLong(keyColumns - 1));
        if (dropsLateRows && end <= timers.getCurrentWatermarkInMs()) return results(List.of());
        boolean isNew = read() == null;
        if (addRows(input)) write();
        if (isNew) getHandle().registerTimer(end);
        return results(List.of());
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
        read();
        clear();
        return results(changes(List.of(), range.of(top.rows())));
    }
}
