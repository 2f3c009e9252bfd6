package io.github.kafkasql.realtime;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses dates and times as Flink's formatters do (TimeFormats), and writes them.
 *
 * <p>ISO_LOCAL_DATE and ISO_LOCAL_DATE_TIME resolve strictly; the others resolve "smart": 30 February is the last day
 * of February, and 24:00:00 is midnight of the next day. A parser throws NumberFormatException with what was expected.
 */
public final class Times {
    private static final long MICROS_PER_DAY = 86400000000L;
    private static final String DATE = "(\\d{4}|\\+\\d{5,10}|-\\d{4,10})-(\\d\\d)-(\\d\\d)";
    private static final String SQL_TIME = "(\\d\\d):(\\d\\d):(\\d\\d)(?:\\.(\\d{0,9}))?";
    private static final String ISO_TIME = "(\\d\\d):(\\d\\d)(?::(\\d\\d)(?:\\.(\\d{0,9}))?)?";
    private static final String OFFSET = "(?:[Zz]|([+-])(\\d\\d):(\\d\\d)(?::(\\d\\d))?)";
    private static final Pattern DATES = Pattern.compile(DATE);
    private static final Pattern TIMES = Pattern.compile(SQL_TIME);
    private static final Pattern LOCAL_TIMES = Pattern.compile(ISO_TIME);
    private static final Pattern SQL = Pattern.compile(DATE + " " + SQL_TIME);
    private static final Pattern SQL_UTC = Pattern.compile(DATE + " " + SQL_TIME + "Z");
    private static final Pattern ISO = Pattern.compile(DATE + "[Tt]" + ISO_TIME);
    private static final Pattern ISO_UTC = Pattern.compile(DATE + "T" + ISO_TIME + "Z");
    private static final Pattern WITH_OFFSET = Pattern.compile(DATE + "T" + ISO_TIME + OFFSET);

    public static int parseDate(String text) {
        Matcher match = DATES.matcher(text);
        if (match.matches()) {
            long days = days(match, false);
            if (days == (int) days) return (int) days;
        }
        throw new NumberFormatException("expected a date such as '2020-12-30'");
    }

    /** Returns the nanoseconds since midnight, rounded down to milliseconds. */
    public static long parseTime(String text) {
        Matcher match = TIMES.matcher(text);
        long nanos = match.matches() ? nanos(match, 1, true) : -1;
        if (nanos < 0) throw new NumberFormatException("expected a time such as '12:13:14'");
        return nanos % (MICROS_PER_DAY * 1000) / 1000000 * 1000000;
    }

    /** Returns the nanoseconds since midnight, as parseTime; seconds are optional, and 24:00:00 is invalid. */
    public static long parseLocalTime(String text) {
        Matcher match = LOCAL_TIMES.matcher(text);
        long nanos = match.matches() ? nanos(match, 1, false) : -1;
        if (nanos < 0) throw new NumberFormatException("expected a time such as '12:13:14'");
        return nanos / 1000000 * 1000000;
    }

    /** Returns the microseconds since 1970. standard: as in the option. isUtc: for TIMESTAMP_LTZ. */
    public static long parseTimestamp(String text, String standard, boolean isUtc) {
        boolean isIso = standard.equals("ISO-8601");
        boolean hasOffset = standard.equals("ISO-8601-WITH-OFFSET");
        Pattern pattern = hasOffset ? WITH_OFFSET : isIso ? (isUtc ? ISO_UTC : ISO) : (isUtc ? SQL_UTC : SQL);
        Matcher match = pattern.matcher(text);
        if (match.matches()) {
            boolean smart = hasOffset || isUtc || !isIso;
            long days = days(match, smart);
            long nanos = nanos(match, 4, smart);
            long offset = hasOffset ? offsetSeconds(match) : 0;
            if (days != Long.MIN_VALUE && nanos >= 0 && offset != Long.MIN_VALUE) {
                try {
                    long time = nanos / 1000 - offset * 1000000;
                    // the days of the smallest timestamp do not fit without the time
                    return days < 0
                        ? Math.addExact(Math.multiplyExact(days + 1, MICROS_PER_DAY), time - MICROS_PER_DAY)
                        : Math.addExact(Math.multiplyExact(days, MICROS_PER_DAY), time);
                } catch (ArithmeticException e) {
                    // out of range
                }
            }
        }
        if (hasOffset) {
            throw new NumberFormatException(
                "expected a timestamp with an offset, such as '2020-12-30T12:13:14.123+02:00'");
        }
        throw new NumberFormatException(
            "expected a timestamp such as '2020-12-30" + (isIso ? "T" : " ") + "12:13:14.123" + (isUtc ? "Z'" : "'"));
    }

    /** Returns the days since 1970-01-01, or Long.MIN_VALUE if the day does not exist. */
    private static long days(Matcher match, boolean smart) {
        String yearText = match.group(1);
        long year = Long.parseLong(yearText);
        int month = Integer.parseInt(match.group(2));
        int day = Integer.parseInt(match.group(3));
        boolean isYear = Math.abs(year) <= 999999999L && !(year == 0 && yearText.charAt(0) == '-');
        if (!isYear || month < 1 || month > 12 || day < 1 || day > 31) return Long.MIN_VALUE;
        boolean leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        int length = month == 2 ? (leap ? 29 : 28) : month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
        if (day > length) {
            if (!smart) return Long.MIN_VALUE;
            day = length;
        }
        return java.time.LocalDate.of((int) year, month, day).toEpochDay();
    }

    private static long nanos(Matcher match, int group, boolean smart) {
        int hour = Integer.parseInt(match.group(group));
        int minute = Integer.parseInt(match.group(group + 1));
        String secondText = match.group(group + 2);
        int second = secondText == null ? 0 : Integer.parseInt(secondText);
        String fractionText = match.group(group + 3);
        long fraction = 0;
        for (int i = 0; i < 9; i++) {
            boolean hasDigit = fractionText != null && i < fractionText.length();
            fraction = fraction * 10 + (hasDigit ? fractionText.charAt(i) - '0' : 0);
        }
        if (smart && hour == 24 && minute == 0 && second == 0 && fraction == 0) return MICROS_PER_DAY * 1000;
        if (hour > 23 || minute > 59 || second > 59) return -1;
        return ((hour * 60 + minute) * 60 + second) * 1000000000L + fraction;
    }

    private static long offsetSeconds(Matcher match) {
        if (match.group(8) == null) return 0;
        int minute = Integer.parseInt(match.group(10));
        int second = match.group(11) == null ? 0 : Integer.parseInt(match.group(11));
        long seconds = (Integer.parseInt(match.group(9)) * 60L + minute) * 60 + second;
        if (minute > 59 || second > 59 || seconds > 18 * 3600) return Long.MIN_VALUE;
        return match.group(8).equals("-") ? -seconds : seconds;
    }

    static void writeDate(long epochDay, StringBuilder out) {
        java.time.LocalDate date = java.time.LocalDate.ofEpochDay(epochDay);
        if (date.getYear() > 32767 || date.getYear() < -32767) {
            throw Failures.encode(
                "The json and csv formats cannot write a date or timestamp beyond the years -32767 to 32767.");
        }
        out.append(date.toString());
    }

    static void writeTime(long nanos, StringBuilder out) {
        long seconds = nanos / 1000000000L;
        pad(seconds / 3600, 2, out);
        out.append(':');
        pad(seconds / 60 % 60, 2, out);
        out.append(':');
        pad(seconds % 60, 2, out);
        writeFraction(nanos / 1000000 % 1000, 3, out);
    }

    static void writeTimestamp(long micros, String standard, boolean isUtc, StringBuilder out) {
        long day = Math.floorDiv(micros, MICROS_PER_DAY);
        long time = Math.floorMod(micros, MICROS_PER_DAY);
        writeDate(day, out);
        out.append(standard.equals("SQL") ? ' ' : 'T');
        writeTime(time / 1000000 * 1000000000L, out);
        writeFraction(time % 1000000, 6, out);
        if (isUtc || standard.equals("ISO-8601-WITH-OFFSET")) out.append('Z');
    }

    private static void writeFraction(long value, int digits, StringBuilder out) {
        if (value == 0) return;
        out.append('.');
        pad(value, digits, out);
        while (out.charAt(out.length() - 1) == '0') out.setLength(out.length() - 1);
    }

    private static void pad(long value, int digits, StringBuilder out) {
        String text = Long.toString(value);
        for (int i = text.length(); i < digits; i++) out.append('0');
        out.append(text);
    }

    /** Truncates as Flink (DateTimeUtils.truncate): milliseconds toward 1970, smaller fractions toward the past. */
    static long truncate(long micros, int precision) {
        if (precision >= 6) return micros;
        long unit = 1;
        if (precision > 3) {
            for (int i = precision; i < 6; i++) unit *= 10;
            long limit = 1;
            for (int i = 0; i < precision; i++) limit *= 10;
            return Math.floorMod(micros, 1000000L) * 1000 < limit ? micros : Math.floorDiv(micros, unit) * unit;
        }
        for (int i = precision; i < 3; i++) unit *= 10;
        long millis = Math.floorDiv(micros, 1000L);
        return (millis - millis % unit) * 1000;
    }

    static long truncateTime(long nanos, int precision) {
        long unit = 1;
        for (int i = precision; i < 9; i++) unit *= 10;
        return nanos / unit * unit;
    }

    private Times() {}
}
