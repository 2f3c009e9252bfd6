package io.github.kafkasql.functions;

import static io.github.kafkasql.functions.TimeReader.INVALID;

import java.time.LocalDate;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** Functions of timestamps as text, and in time zones. Patterns have their literals in single quotes. */
public final class DateTimes {
    private static final long GREGORIAN = LocalDate.of(1582, 10, 15).toEpochDay();
    private static final long YEAR_1900 = micros(1900, 1, 1);
    private static final long YEAR_10000 = micros(10000, 1, 1);

    static final List<FlinkFunction> ALL = List.of(
        new ToLocal(), new ToInstant(), new ToTimestamp(), new ToTimestampWithPattern(), new DateFormat(), new ToDate(),
        new UnixTimestamp(), new FromUnixtime(), new ConvertTz());

    private DateTimes() {}

    private static long micros(int year, int month, int day) {
        return LocalDate.of(year, month, day).toEpochDay() * Times.DAY;
    }

    /** {@code to_local(instant, zone)}: its local time. */
    public static final class ToLocal extends FlinkFunction {
        @Sql("TIMESTAMP_NTZ")
        public static long invoke(@Sql("TIMESTAMP_LTZ") long instant, UTF8String zone) {
            return Times.toLocal(instant, zone);
        }
    }

    /** {@code to_instant(time, zone)}: if clocks are set back, the earlier one of two. */
    public static final class ToInstant extends FlinkFunction {
        @Sql("TIMESTAMP_LTZ")
        public static long invoke(@Sql("TIMESTAMP_NTZ") long local, UTF8String zone) {
            return Times.toInstant(local, zone, false);
        }
    }

    /** {@code to_timestamp(text, digits, error)}: with so many digits of a fraction; without an error message, null. */
    public static final class ToTimestamp extends FlinkFunction {
        // February 30, 24:00, and years with more digits
        private static final Pattern NORMALIZED_BY_FLINK = Pattern.compile(
            "[0-9]{4}-[0-9]{1,2}-(29|30|31)( ([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9]([.][0-9]{0,9})?)?"
            + "|[0-9]{4}-[0-9-]+ 24:0?0:0?0([.]0*)?|[+-][0-9]{5}.*|[ -~]*[^ -~].*", Pattern.DOTALL);

        @Sql("TIMESTAMP_NTZ")
        public static Long invoke(UTF8String text, int digits, UTF8String error) {
            if (text == null) return null;
            long time = TimeReader.readTimestamp(text);
            if (time != INVALID) return Rounding.truncate(time, digits);
            if (error != null) throw error(error.toString(), text);
            if (NORMALIZED_BY_FLINK.matcher(text.toString()).matches())
                throw error("a date or time that does not exist, which Flink would normalize", text);
            return null;
        }
    }

    /** {@code to_timestamp_with_pattern(text, pattern, ignores_rest)}: null for a text without digits. */
    public static final class ToTimestampWithPattern extends FlinkFunction {
        @Sql("TIMESTAMP_NTZ")
        public static Long invoke(UTF8String text, UTF8String pattern, boolean ignoresRest) {
            long time = text == null ? INVALID : TimeReader.readPattern(text, pattern, ignoresRest);
            return time == INVALID ? null : time;
        }
    }

    /** {@code date_format(time, pattern)}. */
    public static final class DateFormat extends FlinkFunction {
        public static UTF8String invoke(@Sql("TIMESTAMP_NTZ") long local, UTF8String pattern) {
            return Times.format(local, pattern);
        }
    }

    /** {@code to_date(text, pattern)}: the pattern can be null. */
    public static final class ToDate extends FlinkFunction {
        private static final String COMPLETE = "[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}";
        private static final Pattern INCOMPLETE = Pattern.compile(
            "(?! *" + COMPLETE + " *\\z|" + COMPLETE + " ) *[0-9]+(?:-[0-9 ]*){0,2}(?: .*)?", Pattern.DOTALL);

        @Sql("DATE")
        public static Integer invoke(UTF8String text, UTF8String pattern) {
            if (text == null) return null;
            if (pattern != null) return parse(text, pattern);
            long day = TimeReader.readDate(text);
            if (day == INVALID && INCOMPLETE.matcher(text.toString()).matches())
                throw error("TO_DATE of an incomplete date, which Flink would complete", text);
            return day == INVALID ? null : (int) day;
        }

        private static int parse(UTF8String text, UTF8String pattern) {
            long day = Math.floorDiv(TimeReader.readPattern(text, pattern, true), Times.DAY);
            if (day >= GREGORIAN) return (int) day;
            if (day > Math.floorDiv(INVALID, Times.DAY))
                throw error(
                    "TO_DATE before 1582-10-15, for which Flink returns a different day", LocalDate.ofEpochDay(day));
            throw error(
                "TO_DATE of a text that does not match the pattern, for which Flink returns an arbitrary day", text);
        }
    }

    /** {@code unix_timestamp(text, pattern, zone)}. */
    public static final class UnixTimestamp extends FlinkFunction {
        public static Long invoke(UTF8String text, UTF8String pattern, UTF8String zone) {
            if (text == null) return null;
            long time = TimeReader.readPattern(text, pattern, true);
            if (time == INVALID) return Long.MIN_VALUE; // as in Flink
            if (time < YEAR_1900)
                throw error(
                    "UNIX_TIMESTAMP of a time before 1900, which depends on historic time zones",
                    Times.toString(time));
            return Math.floorDiv(Times.toInstant(time, zone, true), Times.SECOND);
        }
    }

    /** {@code from_unixtime(seconds, pattern, zone)}. */
    public static final class FromUnixtime extends FlinkFunction {
        public static UTF8String invoke(long seconds, UTF8String pattern, UTF8String zone) {
            if (seconds < GREGORIAN * 86400)
                throw error("FROM_UNIXTIME before 1582-10-15, for which Flink returns a different day", seconds);
            return Times.format(Times.toLocal(Math.multiplyExact(seconds, Times.SECOND), zone), pattern);
        }
    }

    /** {@code convert_tz(text, from, to)}. */
    public static final class ConvertTz extends FlinkFunction {
        public static UTF8String invoke(UTF8String text, UTF8String from, UTF8String to) {
            long time = text == null ? INVALID : TimeReader.readPattern(text, Times.FORM, true);
            if (time == INVALID) return null;
            if (time < YEAR_1900 + Times.DAY)
                throw error(
                    "CONVERT_TZ of a time before 1900-01-02, which depends on historic time zones",
                    Times.toString(time));
            long result = Times.toLocal(Times.toInstant(time, from, true), to);
            if (result >= YEAR_10000) throw error("CONVERT_TZ to a time after the year 9999", Times.toString(result));
            return Times.format(result, Times.FORM);
        }
    }
}
