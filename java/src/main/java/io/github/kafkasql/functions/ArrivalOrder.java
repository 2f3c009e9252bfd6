package io.github.kafkasql.functions;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A number for each row of a stream that is larger than those of the rows before it, also after a restart: the
 * nanoseconds since 1970, or the next number if these are not larger.
 */
public final class ArrivalOrder extends FlinkFunction {
    private static final AtomicLong LAST = new AtomicLong();

    public static long invoke() {
        long now = System.currentTimeMillis() * 1_000_000;
        return LAST.updateAndGet(last -> Math.max(last + 1, now));
    }

    @Override
    public boolean isDeterministic() {
        return false;
    }
}
