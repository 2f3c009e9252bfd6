package io.github.kafkasql.functions;

import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.unsafe.types.UTF8String;

/** Timestamps in microseconds since 1970: in time zones, and as text. */
final class Times {
    static final long SECOND = 1_000_000;
    static final long DAY = 86400 * SECOND;
    static final UTF8String FORM = UTF8String.fromString("yyyy-MM-dd HH:mm:ss");

    private static final Memo<ZoneId> ZONES = new Memo<>(name -> DateTimeUtils.getZoneId(name.toString()));
    private static final Memo<DateTimeFormatter> FORMATTERS =
        new Memo<>(pattern -> DateTimeFormatter.ofPattern(pattern.toString(), Locale.US));

    private Times() {}

    static LocalDateTime dateTime(long micros) {
        int nanos = (int) Math.floorMod(micros, SECOND) * 1000;
        return LocalDateTime.ofEpochSecond(Math.floorDiv(micros, SECOND), nanos, ZoneOffset.UTC);
    }

    static long micros(LocalDateTime time) {
        long seconds = Math.multiplyExact(time.toEpochSecond(ZoneOffset.UTC), SECOND);
        return seconds + time.getNano() / 1000;
    }

    /** Return the local time of an instant. */
    static long toLocal(long instant, UTF8String zone) {
        Instant second = Instant.ofEpochSecond(Math.floorDiv(instant, SECOND));
        return instant + ZONES.get(zone).getRules().getOffset(second).getTotalSeconds() * SECOND;
    }

    /**
     * Return the instant of a local time. A time that clocks skip is later by the skipped time.
     *
     * @param isLater whether it is the later one of two, if clocks are set back
     */
    static long toInstant(long local, UTF8String zone, boolean isLater) {
        ZonedDateTime time = dateTime(local).atZone(ZONES.get(zone));
        if (isLater) time = time.withLaterOffsetAtOverlap();
        return Math.multiplyExact(time.toEpochSecond(), SECOND) + Math.floorMod(local, SECOND);
    }

    /** @param pattern a pattern of java.time */
    static UTF8String format(long local, UTF8String pattern) {
        return UTF8String.fromString(FORMATTERS.get(pattern).format(dateTime(local)));
    }

    /** Return a time for an error message. */
    static String toString(long local) {
        return format(local, FORM).toString();
    }
}
