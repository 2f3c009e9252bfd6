package io.github.kafkasql.state;

/** Times of timers. */
final class Timers {
    private Timers() {}

    /** The watermark, in milliseconds, that passes a time in microseconds. */
    static long millis(long micros) {
        return -Math.floorDiv(-micros, 1000L);
    }
}
