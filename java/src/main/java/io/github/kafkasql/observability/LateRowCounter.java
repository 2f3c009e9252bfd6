package io.github.kafkasql.observability;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/** Counts the rows of a micro-batch that are late, in its tasks. */
public final class LateRowCounter extends AccumulatorV2 {
    private static final int MAX_COUNTERS = 1000;
    private static final Map COUNTERS = new LinkedHashMap(); // by run and micro-batch; on the driver

    private final long watermark; // microseconds
    private long count;

    private LateRowCounter(long watermark) {
        this.watermark = watermark;
    }

    /** The counter of a micro-batch. */
    static LateRowCounter of(SparkContext context, String run, long batch, long watermark) {
        synchronized (COUNTERS) {
            LateRowCounter counter = (LateRowCounter) COUNTERS.get(run + " " + batch);
            if (counter == null) {
                counter = new LateRowCounter(watermark);
                context.register(counter);
                COUNTERS.put(run + " " + batch, counter);
                if (COUNTERS.size() > MAX_COUNTERS) {
                    Iterator oldest = COUNTERS.keySet().iterator();
                    oldest.next();
                    oldest.remove();
                }
            }
            return counter;
        }
    }

    /** How many late rows a micro-batch had; -1 if they were not counted. */
    public static long count(String run, long batch) {
        synchronized (COUNTERS) {
            LateRowCounter counter = (LateRowCounter) COUNTERS.get(run + " " + batch);
            return counter == null ? -1 : counter.count;
        }
    }

    /** Count a row if it is late, and keep it. */
    public boolean keep(long end) {
        if (end <= watermark) count++;
        return true;
    }

    public boolean isZero() {
        return count == 0;
    }

    public AccumulatorV2 copy() {
        LateRowCounter copy = new LateRowCounter(watermark);
        copy.count = count;
        return copy;
    }

    public void reset() {
        count = 0;
    }

    public void add(Object number) {
        count += ((Number) number).longValue();
    }

    public void merge(AccumulatorV2 other) {
        count += ((LateRowCounter) other).count;
    }

    public Object value() {
        return Long.valueOf(count);
    }
}
