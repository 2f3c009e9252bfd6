package io.github.kafkasql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.time.LocalDate;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

final class StringCastsTest {
    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    private static Long integer(String text, int bits) {
        return StringCasts.CastToInteger.invoke(text(text), bits, text("INT"), true);
    }

    @Test
    void castsIntegers() {
        assertEquals(1, integer(" +1.9 ", 8));
        assertEquals(0, integer(".", 8));
        assertEquals(-12, integer("-00012.", 8));
        for (int bits : new int[] {8, 16, 32, 64}) {
            long least = Long.MIN_VALUE >> (64 - bits);
            assertEquals(least, integer(Long.toString(least), bits));
            assertEquals(-(least + 1), integer(Long.toString(-(least + 1)), bits));
            assertNull(integer(Long.toString(least).substring(1), bits));
            assertNull(integer(least + "0", bits));
        }
        for (String text : new String[] {"", " ", "-", "1 2", "- 1", "1e2", "1.x", "\t1", "1\n", "\u00001", "1\u007F", "\u0661"})
            assertNull(integer(text, 32), text);
    }

    @Test
    void namesTheTypeOfAnInvalidText() {
        String end = ". For input string: x SQLSTATE: P0001";
        UTF8String x = text("x");
        var error = assertThrows(SparkRuntimeException.class, () -> StringCasts.CastToInteger.invoke(x, 16, text("SMALLINT"), false));
        assertEquals("[USER_RAISED_EXCEPTION] NumberFormatException: not a valid SMALLINT" + end, error.getMessage());
        error = assertThrows(SparkRuntimeException.class, () -> StringCasts.CastToFloat.invoke(x, false));
        assertEquals("[USER_RAISED_EXCEPTION] NumberFormatException: not a valid FLOAT" + end, error.getMessage());
        error = assertThrows(SparkRuntimeException.class, () -> StringCasts.CastToDate.invoke(x, false));
        assertEquals("[USER_RAISED_EXCEPTION] DateTimeException: not a valid DATE" + end, error.getMessage());
    }

    @Test
    void castsDates() {
        int day = (int) LocalDate.of(2024, 2, 1).toEpochDay();
        for (String text : new String[] {"2024-02-01", "2024-2", "2024-02-01 x", "02024-2-001", "\t2024-02 -03", " 2024 - 02 - 01 "})
            assertEquals(day, StringCasts.CastToDate.invoke(text(text), true), text);
        for (String text : new String[] {"", " ", "2024-02-30", "2024-02-01-", "-2024-02-01", "12024-02-01", "2024-013-1", "2024-02-01x", " 2024-02-01 x"})
            assertNull(StringCasts.CastToDate.invoke(text(text), true), text);
    }
}
