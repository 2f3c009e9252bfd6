package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
 * Flink's event-time temporal join. A row waits until the watermark passes its time, and then joins the version that was
 * valid at that time. Versions that a later one has replaced before the watermark are removed.
 *
 * <p>The input are rows of {@link VersionEvent}. The output are packed rows with the bytes of both sides.
 *
 * <p>Times in the state are microseconds. A key has at most one timer, for the first time at which there is something to
 * do.
 */
final class TemporalJoiner extends Operator {
    private static final long serialVersionUID = 1;
    private static final byte[] DELETED = new byte[0];

    private final boolean isOuter;
    private transient ValueState<byte[]> header; // see TemporalKey
    private transient MapState<byte[], byte[]> versions; // by time
    private transient MapState<byte[], byte[]> waiting; // by time and number
    private transient TemporalKey key; // of the current key

    TemporalJoiner(boolean isOuter) {
        this.isOuter = isOuter;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        header = valueState("key");
        versions = mapState("versions");
        waiting = mapState("waiting");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] ignored, Iterator<Tuple2<byte[], byte[]>> rows, TimerValues timers) {
        long watermark = Times.micros(timers.getCurrentWatermarkInMs());
        key = TemporalKey.read(header.get());
        List<VersionEvent> changes = new ArrayList<>(1);
        List<VersionEvent> late = new ArrayList<>(0);
        List<byte[]> output = new ArrayList<>(0);
        long next = Long.MAX_VALUE;
        while (rows.hasNext()) {
            VersionEvent event = VersionEvent.read(rows.next()._1());
            if (event.isVersion()) {
                changes.add(event);
            } else if (!event.hasTime()) {
                if (isOuter) output.add(join(event.row(), null));
            } else if (event.time() <= watermark) {
                late.add(event);
            } else {
                waiting.updateValue(TimeBytes.write(event.time(), key.number++), event.row());
                key.waiting++;
                next = Math.min(next, event.time());
            }
        }
        if (changes.size() > 1) Collections.sort(changes);
        for (VersionEvent change : changes) next = Math.min(next, addVersion(change));
        if (!late.isEmpty()) {
            TreeMap<Long, byte[]> known = readVersions();
            for (VersionEvent event : late) joinRow(event.time(), event.row(), known, output);
        }
        schedule(next);
        save();
        return results(output);
    }

    /** Add a version, or a deletion, and return when there is something to do: earlier versions may be removed then. */
    private long addVersion(VersionEvent event) {
        if (event.hasTime()) key.setLastTime(event.time());
        if (!key.hasLastTime) return Long.MAX_VALUE; // a deletion of an unknown row
        long time = key.lastTime; // a deletion without a time has that of the row before it
        versions.updateValue(TimeBytes.write(time), event.kind() == RowKind.DELETE ? DELETED : event.row());
        boolean isFirst = !key.hasVersions;
        key.hasVersions = true;
        return isFirst ? Long.MAX_VALUE : time;
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(byte[] ignored, TimerValues timers, ExpiredTimerInfo expired) {
        key = TemporalKey.read(header.get());
        key.timer = Long.MAX_VALUE;
        return CollectionConverters.asScala(new Due(Times.micros(timers.getCurrentWatermarkInMs())));
    }

    /** Joins the rows that wait for a watermark. At the end, removes versions, and sets the next timer. */
    private final class Due implements java.util.Iterator<byte[]> {
        private final long watermark;
        private final TreeMap<Long, byte[]> known = readVersions();
        private final Iterator<Tuple2<byte[], byte[]>> rows = waiting.iterator();
        private final TemporalKey own = key;
        private final List<byte[]> output = new ArrayList<>(1);
        private long next = Long.MAX_VALUE;
        private boolean isFinished;

        Due(long watermark) {
            this.watermark = watermark;
        }

        @Override
        public boolean hasNext() {
            while (output.isEmpty() && rows.hasNext()) {
                Tuple2<byte[], byte[]> entry = rows.next();
                long time = TimeBytes.read(entry._1());
                if (time > watermark) {
                    next = Math.min(next, time);
                } else {
                    joinRow(time, entry._2(), known, output);
                    waiting.removeKey(entry._1());
                    own.waiting--;
                }
            }
            if (output.isEmpty() && !isFinished) finish();
            return !output.isEmpty();
        }

        @Override
        public byte[] next() {
            hasNext();
            return output.remove(0);
        }

        private void finish() {
            isFinished = true;
            Long valid = known.floorKey(watermark);
            if (valid != null) {
                for (long replaced : known.headMap(valid).keySet()) versions.removeKey(TimeBytes.write(replaced));
                Long following = known.higherKey(valid);
                if (following != null) next = Math.min(next, following);
            } else if (known.size() > 1) {
                next = Math.min(next, known.higherKey(known.firstKey()));
            }
            key = own;
            schedule(next);
            save();
        }
    }

    private TreeMap<Long, byte[]> readVersions() {
        TreeMap<Long, byte[]> known = new TreeMap<>();
        if (!key.hasVersions) return known;
        Iterator<Tuple2<byte[], byte[]>> entries = versions.iterator();
        while (entries.hasNext()) {
            Tuple2<byte[], byte[]> entry = entries.next();
            known.put(TimeBytes.read(entry._1()), entry._2());
        }
        return known;
    }

    private void joinRow(long time, byte[] row, TreeMap<Long, byte[]> known, List<byte[]> output) {
        Map.Entry<Long, byte[]> version = known.floorEntry(time);
        byte[] right = version == null ? DELETED : version.getValue();
        if (right.length > 0) output.add(join(row, right));
        else if (isOuter) output.add(join(row, null));
    }

    private static byte[] join(byte[] left, byte[] right) {
        var writer = new UnsafeRowWriter(2, left.length + (right == null ? 0 : right.length) + 16);
        writer.resetRowWriter();
        writer.write(0, left);
        if (right == null) writer.setNullAt(1);
        else writer.write(1, right);
        return writer.getRow().getBytes();
    }

    private void schedule(long time) {
        if (time == Long.MAX_VALUE) return;
        long timer = Times.timer(time);
        if (timer >= key.timer) return;
        if (key.timer != Long.MAX_VALUE) getHandle().deleteTimer(key.timer);
        getHandle().registerTimer(timer);
        key.timer = timer;
    }

    private void save() {
        if (key.isEmpty()) header.clear();
        else header.update(key.pack());
    }
}
