package io.github.kafkasql.observability;

import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.util.AccumulatorV2;

/** Counts the rows of a micro-batch that are late, in its tasks. */
public final class LateRowCounter extends AccumulatorV2<Long, Long> {
    private static final long serialVersionUID = 1;
    private static final int MAX_COUNTERS = 1000;
    private static final Map<Batch, LateRowCounter> COUNTERS = new Counters(); // on the driver

    private record Batch(String run, long number) {}

    /** Forgets the oldest counters. */
    private static final class Counters extends LinkedHashMap<Batch, LateRowCounter> {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<Batch, LateRowCounter> oldest) {
            return size() > MAX_COUNTERS;
        }
    }

    private final long watermark; // microseconds
    private long count;

    private LateRowCounter(long watermark) {
        this.watermark = watermark;
    }

    /** The counter of a micro-batch. */
    static LateRowCounter of(SparkContext context, String run, long batch, long watermark) {
        synchronized (COUNTERS) {
            return COUNTERS.computeIfAbsent(new Batch(run, batch), key -> {
                var counter = new LateRowCounter(watermark);
                context.register(counter);
                return counter;
            });
        }
    }

    /** How many late rows a micro-batch had; -1 if they were not counted. */
    public static long count(String run, long batch) {
        synchronized (COUNTERS) {
            LateRowCounter counter = COUNTERS.get(new Batch(run, batch));
            return counter == null ? -1 : counter.count;
        }
    }

    /** Count a row if it is late, and keep it. */
    public boolean keep(long end) {
        if (end <= watermark) count++;
        return true;
    }

    @Override
    public boolean isZero() {
        return count == 0;
    }

    @Override
    public AccumulatorV2<Long, Long> copy() {
        var copy = new LateRowCounter(watermark);
        copy.count = count;
        return copy;
    }

    @Override
    public void reset() {
        count = 0;
    }

    @Override
    public void add(Long number) {
        count += number;
    }

    @Override
    public void merge(AccumulatorV2<Long, Long> other) {
        count += other.value();
    }

    @Override
    public Long value() {
        return count;
    }
}
