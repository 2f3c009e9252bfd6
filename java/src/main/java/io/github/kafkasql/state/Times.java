package io.github.kafkasql.state;

/** Converts the milliseconds of watermarks and timers to the microseconds of columns, and back. */
final class Times {
    private Times() {}

    static long micros(long millis) {
        return Math.multiplyExact(millis, 1000L);
    }

    /** The first timer at which a watermark has passed a time: a watermark in milliseconds passes it within the next one. */
    static long timer(long micros) {
        return -Math.floorDiv(-micros, 1000L);
    }
}
