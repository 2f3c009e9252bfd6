package io.github.kafkasql.functions;

import static io.github.kafkasql.functions.Times.DAY;
import static io.github.kafkasql.functions.Times.SECOND;

import java.time.LocalDate;
import java.time.YearMonth;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads a date or timestamp from the bytes of a string. */
final class TimeReader {
    /** What is returned for a text that is no time. */
    static final long INVALID = Long.MIN_VALUE;

    private static final String LETTERS = "yMdHmsS";
    private static final Pattern DIGIT_OR_UNPRINTABLE = Pattern.compile("[0-9]|[^ -~]");
    private static final long YEAR_1 = LocalDate.of(1, 1, 1).toEpochDay();

    private final UTF8String text;
    private int position;

    private TimeReader(UTF8String text) {
        this.text = text;
    }

    /** Return the microseconds of a text such as 2024-2-9 or 2024-02-09 01:02:03.456, with up to nine digits. */
    static long readTimestamp(UTF8String text) {
        TimeReader reader = new TimeReader(text);
        long day = reader.date();
        long time = reader.isAtEnd() ? 0 : reader.time();
        return day < YEAR_1 || time == INVALID || !reader.isAtEnd() ? INVALID : day * DAY + time;
    }

    /** Return the day since 1970 of a date such as 2024-2-9, between spaces or followed by a space and any text. */
    static long readDate(UTF8String text) {
        TimeReader reader = new TimeReader(text);
        reader.skipSpaces();
        boolean isIndented = reader.position > 0;
        long day = reader.date();
        boolean hasRest = reader.skip(' ');
        if (isIndented) reader.skipSpaces();
        return reader.isAtEnd() || (hasRest && !isIndented) ? day : INVALID;
    }

    /**
     * Return the microseconds of a text in a pattern of java.time with a fixed number of digits.
     *
     * <p>Flink parses leniently. Where it might, for a text with digits, this is an error.
     *
     * @param pattern with literals in single quotes, letters only of a year to a unit of time, and no unit missing
     * @param ignoresRest whether text after the timestamp is ignored, unless it starts with a digit
     */
    static long readPattern(UTF8String text, UTF8String pattern, boolean ignoresRest) {
        long time = new TimeReader(text).parse(pattern, ignoresRest);
        if (time == INVALID && DIGIT_OR_UNPRINTABLE.matcher(text.toString()).find())
            throw FlinkFunction.error(
                "a string that does not match the pattern exactly, which Flink would parse leniently", text);
        return time;
    }

    /** Return the day since 1970 of a date; INVALID if it does not exist. */
    static long toEpochDay(int year, int month, int day) {
        if (year < 0 || month < 1 || month > 12 || !YearMonth.of(year, month).isValidDay(day)) return INVALID;
        return LocalDate.of(year, month, day).toEpochDay();
    }

    private long parse(UTF8String pattern, boolean ignoresRest) {
        int[] fields = new int[LETTERS.length()];
        boolean isQuoted = false;
        for (int i = 0; i < pattern.numBytes(); i++) {
            byte c = pattern.getByte(i);
            int field = isQuoted ? -1 : LETTERS.indexOf(c);
            if (field >= 0) {
                int digit = digits(1, 1);
                if (digit < 0) return INVALID;
                fields[field] = fields[field] * 10 + digit;
            } else if (c == '\'' && !(isQuoted && i + 1 < pattern.numBytes() && pattern.getByte(i + 1) == '\'')) {
                isQuoted = !isQuoted;
            } else {
                if (c == '\'') i++;
                if (!skip(c)) return INVALID;
            }
        }
        if (ignoresRest ? digits(1, 1) >= 0 : !isAtEnd()) return INVALID;
        long day = toEpochDay(fields[0], fields[1], fields[2]);
        long second = toSecondOfDay(fields[3], fields[4], fields[5]);
        return day < YEAR_1 || second < 0 ? INVALID : day * DAY + second * SECOND + fields[6] * 1000L;
    }

    private long date() {
        return toEpochDay(digits(4, 4), digitsAfter('-'), digitsAfter('-'));
    }

    private long time() {
        int second = toSecondOfDay(digitsAfter(' '), digitsAfter(':'), digitsAfter(':'));
        if (second < 0) return INVALID;
        int start = position + 1;
        long nanos = skip('.') ? digits(0, 9) : 0;
        for (int length = position - start; length < 9; length++) nanos *= 10;
        return second * SECOND + nanos / 1000;
    }

    private static int toSecondOfDay(int hour, int minute, int second) {
        boolean isValid = hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60;
        return isValid ? (hour * 60 + minute) * 60 + second : -1;
    }

    private int digitsAfter(char separator) {
        return skip(separator) ? digits(1, 2) : -1;
    }

    /** Return the number of at least {@code min} and at most {@code max} digits; -1 if there are fewer. */
    private int digits(int min, int max) {
        int start = position;
        int value = 0;
        while (position - start < max && !isAtEnd()) {
            int digit = text.getByte(position) - '0';
            if (digit < 0 || digit > 9) break;
            value = value * 10 + digit;
            position++;
        }
        return position - start < min ? -1 : value;
    }

    private boolean skip(int c) {
        boolean isNext = !isAtEnd() && text.getByte(position) == c;
        if (isNext) position++;
        return isNext;
    }

    private void skipSpaces() {
        while (!isAtEnd() && text.getByte(position) == ' ') position++;
    }

    private boolean isAtEnd() {
        return position == text.numBytes();
    }
}
