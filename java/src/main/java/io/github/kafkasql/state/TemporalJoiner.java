package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
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
public final class TemporalJoiner extends StatefulProcessor {
    private static final byte[] DELETED = new byte[0];

    private final boolean isOuter;
    private transient ValueState header; // see TemporalKey
    private transient MapState versions; // by time
    private transient MapState waiting; // by time and number
    private transient TemporalKey key; // of the current key

    TemporalJoiner(boolean isOuter) {
        this.isOuter = isOuter;
    }

    public void init(OutputMode mode, TimeMode time) {
        header = getHandle().getValueState("key", Encoders.BINARY(), TTLConfig.NONE());
        versions = getHandle().getMapState("versions", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
        waiting = getHandle().getMapState("waiting", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    }

    public Iterator handleInputRows(Object ignored, Iterator rows, TimerValues timers) {
        long watermark = micros(timers.getCurrentWatermarkInMs());
        key = TemporalKey.read((byte[]) header.get());
        List changes = new ArrayList(1), late = new ArrayList(0), output = new ArrayList(0);
        long next = Long.MAX_VALUE;
        while (rows.hasNext()) {
            VersionEvent event = VersionEvent.read((byte[]) ((Tuple2) rows.next())._1());
            if (event.isVersion()) {
                changes.add(event);
            } else if (!event.hasTime) {
                if (isOuter) output.add(join(event.row, null));
            } else if (event.time <= watermark) {
                late.add(event);
            } else {
                waiting.updateValue(TimeBytes.write(event.time, key.number++), event.row);
                key.waiting++;
                next = Math.min(next, event.time);
            }
        }
        if (changes.size() > 1) Collections.sort(changes);
        for (int i = 0; i < changes.size(); i++) next = Math.min(next, addVersion((VersionEvent) changes.get(i)));
        if (!late.isEmpty()) {
            TreeMap known = readVersions();
            for (int i = 0; i < late.size(); i++) {
                VersionEvent event = (VersionEvent) late.get(i);
                joinRow(event.time, event.row, known, output);
            }
        }
        schedule(next);
        save();
        return CollectionConverters.asScala(output.iterator());
    }

    /** Add a version, or a deletion, and return when there is something to do: earlier versions may be removed then. */
    private long addVersion(VersionEvent event) {
        if (event.hasTime) key.setLastTime(event.time);
        if (!key.hasLastTime) return Long.MAX_VALUE; // a deletion of an unknown row
        long time = key.lastTime; // a deletion without a time has that of the row before it
        versions.updateValue(TimeBytes.write(time), event.kind == Change.DELETE ? DELETED : event.row);
        boolean isFirst = !key.hasVersions;
        key.hasVersions = true;
        return isFirst ? Long.MAX_VALUE : time;
    }

    public Iterator handleExpiredTimer(Object ignored, TimerValues timers, ExpiredTimerInfo expired) {
        key = TemporalKey.read((byte[]) header.get());
        key.timer = Long.MAX_VALUE;
        return CollectionConverters.asScala(new Due(micros(timers.getCurrentWatermarkInMs())));
    }

    /** Joins the rows that wait for a watermark. At the end, removes versions, and sets the next timer. */
    private final class Due implements java.util.Iterator {
        private final long watermark;
        private final TreeMap known;
        private final Iterator rows;
        private final TemporalKey own = key;
        private final List output = new ArrayList(1);
        private long next = Long.MAX_VALUE;
        private boolean isFinished;

        Due(long watermark) {
            this.watermark = watermark;
            known = readVersions();
            rows = waiting.iterator();
        }

        public boolean hasNext() {
            while (output.isEmpty() && rows.hasNext()) {
                Tuple2 entry = (Tuple2) rows.next();
                byte[] position = (byte[]) entry._1();
                long time = TimeBytes.read(position);
                if (time > watermark) {
                    next = Math.min(next, time);
                } else {
                    joinRow(time, (byte[]) entry._2(), known, output);
                    waiting.removeKey(position);
                    own.waiting--;
                }
            }
            if (output.isEmpty() && !isFinished) finish();
            return !output.isEmpty();
        }

        public Object next() {
            hasNext();
            return output.remove(0);
        }

        public void remove() {
            throw new UnsupportedOperationException();
        }

        private void finish() {
            isFinished = true;
            Object valid = known.floorKey(Long.valueOf(watermark));
            if (valid != null) {
                java.util.Iterator replaced = known.headMap(valid).keySet().iterator();
                while (replaced.hasNext()) versions.removeKey(TimeBytes.write(((Long) replaced.next()).longValue()));
                Object following = known.higherKey(valid);
                if (following != null) next = Math.min(next, ((Long) following).longValue());
            } else if (known.size() > 1) {
                next = Math.min(next, ((Long) known.higherKey(known.firstKey())).longValue());
            }
            key = own;
            schedule(next);
            save();
        }
    }

    private TreeMap readVersions() {
        TreeMap known = new TreeMap();
        if (!key.hasVersions) return known;
        Iterator entries = versions.iterator();
        while (entries.hasNext()) {
            Tuple2 entry = (Tuple2) entries.next();
            known.put(Long.valueOf(TimeBytes.read((byte[]) entry._1())), entry._2());
        }
        return known;
    }

    private void joinRow(long time, byte[] row, TreeMap known, List output) {
        Map.Entry version = known.floorEntry(Long.valueOf(time));
        byte[] right = version == null ? DELETED : (byte[]) version.getValue();
        if (right.length > 0) output.add(join(row, right));
        else if (isOuter) output.add(join(row, null));
    }

    private static byte[] join(byte[] left, byte[] right) {
        UnsafeRowWriter writer = new UnsafeRowWriter(2, left.length + (right == null ? 0 : right.length) + 16);
        writer.resetRowWriter();
        writer.write(0, left);
        if (right == null) writer.setNullAt(1);
        else writer.write(1, right);
        return writer.getRow().getBytes();
    }

    private void schedule(long time) {
        if (time == Long.MAX_VALUE) return;
        long timer = -Math.floorDiv(-time, 1000L); // a watermark in milliseconds passes a time within the next one
        if (timer >= key.timer) return;
        if (key.timer != Long.MAX_VALUE) getHandle().deleteTimer(key.timer);
        getHandle().registerTimer(timer);
        key.timer = timer;
    }

    private void save() {
        if (key.isEmpty()) header.clear();
        else header.update(key.pack());
    }

    private static long micros(long millis) {
        return Math.multiplyExact(millis, 1000L);
    }
}
