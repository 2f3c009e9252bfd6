package io.github.kafkasql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.LocalDate;
import java.time.LocalDateTime;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

final class DateTimesTest {
    private static final UTF8String NEW_YORK = text("America/New_York");

    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    private static long micros(String time) {
        return Times.micros(LocalDateTime.parse(time));
    }

    private static void assertFails(String message, Runnable function) {
        var error = assertThrows(SparkRuntimeException.class, function::run);
        assertEquals("[USER_RAISED_EXCEPTION] " + message + " SQLSTATE: P0001", error.getMessage());
    }

    @Test
    void readsTimestamps() {
        for (String text : new String[] {"2024-2-9 1:2:3.456789", "2024-02-09 01:02:03.456789123", "2024-2-09 01:2:03.4567899"})
            assertEquals(micros("2024-02-09T01:02:03.456"), DateTimes.ToTimestamp.invoke(text(text), 3, null), text);
        assertEquals(micros("1969-12-31T23:59:59.9"), DateTimes.ToTimestamp.invoke(text("1969-12-31 23:59:59.99"), 1, null));
        assertEquals(micros("2024-02-29T00:00"), DateTimes.ToTimestamp.invoke(text("2024-02-29"), 3, null));
        for (String text : new String[] {"", "2024", "0000-01-01", "2024-01-01 ", "2024-01-01 1:2", "2024-13-01", "2024-01-01 1:2:3.1234567890"}) {
            assertNull(DateTimes.ToTimestamp.invoke(text(text), 3, null), text);
            assertFails("no time: " + text, () -> DateTimes.ToTimestamp.invoke(text(text), 3, text("no time")));
        }
        for (String text : new String[] {"2023-02-29", "2024-04-31 10:00:00", "2024-01-01 24:00:00", "+12024-01-01", "2024-01-01\n", "\u0661999-01-01"})
            assertFails(
                "a date or time that does not exist, which Flink would normalize: " + text,
                () -> DateTimes.ToTimestamp.invoke(text(text), 3, null));
    }

    @Test
    void readsPatterns() {
        long time = micros("2024-02-29T10:00:00.007");
        assertEquals(time, TimeReader.readPattern(text("20240229 100000.007"), text("yyyyMMdd HHmmss.SSS"), false));
        assertEquals(time, TimeReader.readPattern(text("2024'é29T0210:00:00007Z, etc"), text("yyyy'''é'dd'T'MMHH:mm:ssSSS'Z'"), true));
        assertEquals(micros("2024-02-29T00:00"), TimeReader.readPattern(text("2024-02-29"), text("yyyy-MM-dd"), false));
        assertEquals(micros("2024-02-29T00:00"), TimeReader.readPattern(text("2024'02''29"), text("yyyy''''MM''''''dd"), false));
        assertEquals(TimeReader.INVALID, TimeReader.readPattern(text("none"), text("yyyy-MM-dd"), false));
        for (String text : new String[] {"2024-02-30", "2024-2-9", "0000-01-01", "2024-02-291", "2024-02-29 ", "2024-02-2"})
            assertFails(
                "a string that does not match the pattern exactly, which Flink would parse leniently: " + text,
                () -> TimeReader.readPattern(text(text), text("yyyy-MM-dd"), false));
    }

    @Test
    void readsDates() {
        int day = (int) LocalDate.of(2024, 2, 9).toEpochDay();
        for (String text : new String[] {"2024-02-09", "2024-2-9 12:00", "  2024-02-9 ", "2024-02-09 \n"})
            assertEquals(day, DateTimes.ToDate.invoke(text(text), null), text);
        for (String text : new String[] {"", "2023-02-29", "2023-02-29 x", "2024-02-09x", "x"})
            assertNull(DateTimes.ToDate.invoke(text(text), null), text);
        for (String text : new String[] {"2024", " 2024-02 x", "2024-", " 2024-02-09 x"})
            assertFails(
                "TO_DATE of an incomplete date, which Flink would complete: " + text,
                () -> DateTimes.ToDate.invoke(text(text), null));
        assertEquals(day, DateTimes.ToDate.invoke(text("09.02.2024 x"), text("dd.MM.yyyy")));
    }

    @Test
    void convertsBetweenTimeZones() {
        assertEquals(micros("2024-03-10T03:30"), DateTimes.ToLocal.invoke(micros("2024-03-10T07:30"), NEW_YORK));
        assertEquals(micros("2024-03-10T07:30"), DateTimes.ToInstant.invoke(micros("2024-03-10T02:30"), NEW_YORK));
        assertEquals(micros("2024-11-03T05:30:00.000001"), DateTimes.ToInstant.invoke(micros("2024-11-03T01:30:00.000001"), NEW_YORK));
        UTF8String twice = text("2024-11-03 01:30:00"); // before and after clocks are set back
        assertEquals(text("2024-11-03 06:30:00"), DateTimes.ConvertTz.invoke(twice, NEW_YORK, text("UTC")));
        assertEquals(micros("2024-11-03T06:30") / 1000000, DateTimes.UnixTimestamp.invoke(twice, Times.FORM, NEW_YORK));
        assertEquals(Long.MIN_VALUE, DateTimes.UnixTimestamp.invoke(text("none"), Times.FORM, NEW_YORK));
        assertEquals(twice, DateTimes.FromUnixtime.invoke(micros("2024-11-03T05:30") / 1000000, Times.FORM, NEW_YORK));
    }

    @Test
    void rejectsEarlyTimes() {
        assertFails(
            "CONVERT_TZ of a time before 1900-01-02, which depends on historic time zones: 1900-01-01 23:59:59",
            () -> DateTimes.ConvertTz.invoke(text("1900-01-01 23:59:59"), NEW_YORK, NEW_YORK));
        assertFails(
            "CONVERT_TZ to a time after the year 9999: +10000-01-01 04:00:00",
            () -> DateTimes.ConvertTz.invoke(text("9999-12-31 23:00:00"), NEW_YORK, text("UTC")));
        assertFails(
            "UNIX_TIMESTAMP of a time before 1900, which depends on historic time zones: 1899-12-31 00:00:00",
            () -> DateTimes.UnixTimestamp.invoke(text("1899-12-31"), text("yyyy-MM-dd"), NEW_YORK));
        assertFails(
            "TO_DATE before 1582-10-15, for which Flink returns a different day: 1582-10-14",
            () -> DateTimes.ToDate.invoke(text("1582-10-14"), text("yyyy-MM-dd")));
        assertFails(
            "FROM_UNIXTIME before 1582-10-15, for which Flink returns a different day: -12219292801",
            () -> DateTimes.FromUnixtime.invoke(-12219292801L, Times.FORM, NEW_YORK));
        assertFails(
            "YEAR of a timestamp before 1970, which Flink rounds up: 1969-12-31 23:59:59",
            () -> Rounding.Since1970.invoke(-1, text("YEAR of a timestamp")));
    }

    @Test
    void readsLongTextsInLinearTime() {
        String spaces = " ".repeat(1 << 20);
        assertNull(DateTimes.ToTimestamp.invoke(text("2024-" + "-1".repeat(1 << 20)), 3, null));
        assertFails(
            "TO_DATE of an incomplete date, which Flink would complete: 1-" + spaces + "-" + spaces + "\n",
            () -> DateTimes.ToDate.invoke(text("1-" + spaces + "-" + spaces + "\n"), null));
        assertNull(StringCasts.CastToInteger.invoke(text("9".repeat(1 << 20)), 64, text("BIGINT"), true));
        assertNull(StringCasts.CastToDate.invoke(text("0".repeat(1 << 20) + "-" + spaces + "x"), true));
        assertEquals(1e300, StringCasts.CastToDouble.invoke(text("1" + "0".repeat(300) + "." + "0".repeat(1 << 20)), true));
    }
}
