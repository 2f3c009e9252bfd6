package io.github.kafkasql.formats;

import java.time.LocalDate;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.time.temporal.ChronoUnit;
import java.time.temporal.TemporalQueries;

/** Reads and writes dates and times with the formatters of Flink's TimeFormats. */
public final class Times {
    /** It resolves "smart": 24:00:00 is midnight of the next day, and 30 February before it the last day of February. */
    static final DateTimeFormatter SQL_TIME =
        new DateTimeFormatterBuilder()
            .appendPattern("HH:mm:ss")
            .appendFraction(ChronoField.NANO_OF_SECOND, 0, 9, true)
            .toFormatter();

    public static final String EXPECTED = "a time such as '12:13:14'";

    private static final int MAX_YEAR = 32767;

    static DateTimeFormatter dateAnd(char separator, DateTimeFormatter time, String end) {
        return new DateTimeFormatterBuilder()
            .append(DateTimeFormatter.ISO_LOCAL_DATE)
            .appendLiteral(separator)
            .append(time)
            .appendLiteral(end)
            .toFormatter();
    }

    /** Returns the nanoseconds since midnight, rounded down to milliseconds. */
    public static long parseTime(String text, DateTimeFormatter formatter) {
        LocalTime time = formatter.parse(text).query(TemporalQueries.localTime());
        return time.truncatedTo(ChronoUnit.MILLIS).toNanoOfDay();
    }

    static String formatDate(LocalDate date) {
        if (Math.abs(date.getYear()) > MAX_YEAR) {
            throw Failures.encode(
                null, "The json and csv formats cannot write a date or timestamp beyond the years -32767 to 32767.");
        }
        return date.toString();
    }

    /** Formats as SQL_TIME does, which takes several times as long. */
    static String formatTime(LocalTime time) {
        String text = time.toString(); // without seconds of zero; with 3, 6 or 9 digits of a fraction
        if (text.length() == 5) return text + ":00";
        int end = text.length();
        while (time.getNano() > 0 && text.charAt(end - 1) == '0') end--;
        return text.substring(0, end);
    }

    /** Truncates as Flink (DateTimeUtils.truncate): milliseconds toward 1970, smaller fractions toward the past. */
    public static long truncate(long micros, int precision) {
        if (precision >= 6) return micros;
        if (precision > 3) {
            boolean isKept = Math.floorMod(micros, 1000000L) * 1000 < powerOfTen(precision);
            return isKept ? micros : micros - Math.floorMod(micros, powerOfTen(6 - precision));
        }
        long millis = Math.floorDiv(micros, 1000L);
        return (millis - millis % powerOfTen(3 - precision)) * 1000;
    }

    public static long truncateTime(long nanos, int precision) {
        return nanos - nanos % powerOfTen(9 - precision);
    }

    private static long powerOfTen(int exponent) {
        return (long) Math.pow(10, exponent);
    }

    private Times() {}
}
