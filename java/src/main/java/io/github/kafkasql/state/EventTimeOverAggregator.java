package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Flink's OverAggregate and TemporalSort by event time: a row waits until the watermark passes its time. Then no row
 * before it can follow, and its results are final. Without functions, rows are only sorted.
 *
 * <p>The input are rows of {@link OverEvent}. The output are packed rows with the bytes of the row and of its results.
 *
 * <p>Rows wait in the order of their time and arrival, because RocksDB returns the entries of a key in the order of their
 * bytes: a timer reads the rows that are due, and not the others. A key has at most one timer, for the first time at which
 * there is something to do.
 */
final class EventTimeOverAggregator extends Operator {
    private static final long serialVersionUID = 1;
    private static final int MAX_READ = 1000; // rows that are returned at once
    private static final int MAX_NOT_DUE = 100; // rows that are read only to close the iterator early

    private final OverWindow window;
    private final boolean dropsLateRows;
    private transient ValueState<byte[]> header; // the next number, how many rows wait, the timer, and the last time
    private transient MapState<byte[], byte[]> waiting; // by time and number
    private transient OverRows rows;
    private transient long number;
    private transient long count;
    private transient long timer; // in milliseconds; Long.MAX_VALUE if none is set
    private transient long last; // the time of the last row that was returned

    /**
     * @param dropsLateRows whether rows behind the watermark are late; those of another operator are not
     */
    EventTimeOverAggregator(OverWindow window, boolean dropsLateRows) {
        this.window = window;
        this.dropsLateRows = dropsLateRows;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        header = valueState("key");
        waiting = mapState("waiting");
        window.open();
        rows = new OverRows(window, valueState("window"), mapState("rows"));
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        long watermark = Math.multiplyExact(timers.getCurrentWatermarkInMs(), 1000L);
        load();
        long late = window.dropsBehindWatermark() ? watermark : last; // as in Flink
        long next = Long.MAX_VALUE;
        for (OverEvent event : OverEvent.readAll(input)) {
            if (!event.hasTime() || (dropsLateRows && event.time() <= late)) continue;
            waiting.updateValue(TimeBytes.write(event.time(), number++), event.row());
            count++;
            next = Math.min(next, event.time());
        }
        schedule(next);
        save();
        return results(List.of());
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
        load();
        timer = Long.MAX_VALUE;
        return CollectionConverters.asScala(new Due(Math.multiplyExact(timers.getCurrentWatermarkInMs(), 1000L)));
    }

    /** Returns the rows that a watermark has passed. At the end, sets the next timer. */
    private final class Due implements java.util.Iterator<byte[]> {
        private final long watermark;
        private final Iterator<Tuple2<byte[], byte[]>> entries = waiting.iterator();
        private Tuple2<byte[], byte[]> following; // the first row that was read and not returned
        private List<byte[]> output = List.of();
        private int returned;
        private boolean isFinished;

        Due(long watermark) {
            this.watermark = watermark;
            rows.begin();
            read();
        }

        private void read() {
            following = entries.hasNext() ? entries.next() : null;
        }

        private boolean isDue() {
            return following != null && TimeBytes.read(following._1()) <= watermark;
        }

        @Override
        public boolean hasNext() {
            if (returned < output.size()) return true;
            output = new ArrayList<>();
            returned = 0;
            while (isDue() && output.size() < MAX_READ) addRowsOfTime(TimeBytes.read(following._1()));
            if (output.isEmpty() && !isFinished) finish();
            return !output.isEmpty();
        }

        private void addRowsOfTime(long time) {
            last = time;
            List<UnsafeRow> sameTime = new ArrayList<>(1);
            while (following != null && TimeBytes.read(following._1()) == time) {
                sameTime.add(window.row(following._2()));
                waiting.removeKey(following._1());
                count--;
                read();
            }
            for (List<UnsafeRow> peers : window.peers(sameTime)) rows.add(peers, time, output);
        }

        @Override
        public byte[] next() {
            return output.get(returned++);
        }

        private void finish() {
            isFinished = true;
            long next = following == null ? Long.MAX_VALUE : TimeBytes.read(following._1());
            // an iterator stays open until its end, or until that of the task
            for (int i = 0; i < MAX_NOT_DUE && entries.hasNext(); i++) entries.next();
            long removal = rows.save(watermark + 1);
            schedule(Math.min(next, removal));
            save();
        }
    }

    private void schedule(long time) {
        if (time == Long.MAX_VALUE) return;
        long millis = -Math.floorDiv(-time, 1000L); // a watermark in milliseconds passes a time within the next one
        if (millis >= timer) return;
        if (timer != Long.MAX_VALUE) getHandle().deleteTimer(timer);
        getHandle().registerTimer(millis);
        timer = millis;
    }

    private void load() {
        byte[] packed = header.get();
        UnsafeRow read = packed == null ? null : RowPacker.toRow(packed, 4);
        number = read == null ? 0 : read.getLong(0);
        count = read == null ? 0 : read.getLong(1);
        timer = read == null ? Long.MAX_VALUE : read.getLong(2);
        last = read == null ? Long.MIN_VALUE : read.getLong(3);
    }

    private void save() {
        if (count == 0 && timer == Long.MAX_VALUE && (window.dropsBehindWatermark() || !dropsLateRows)) {
            header.clear();
            return;
        }
        var writer = new UnsafeRowWriter(4, 0);
        writer.resetRowWriter();
        writer.write(0, number);
        writer.write(1, count);
        writer.write(2, timer);
        writer.write(3, last);
        header.update(writer.getRow().getBytes());
    }
}
