package io.github.kafkasql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.LocalDateTime;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

final class RoundingTest {
    private static void assertRounded(String unit, String floor, String ceiling) {
        long time = Times.micros(LocalDateTime.parse("2024-08-14T12:34:56.789"));
        assertEquals(LocalDateTime.parse(floor), Times.dateTime(Rounding.FloorTo.invoke(time, UTF8String.fromString(unit))));
        assertEquals(LocalDateTime.parse(ceiling), Times.dateTime(Rounding.CeilTo.invoke(time, UTF8String.fromString(unit))));
    }

    @Test
    void roundsToUnits() {
        assertRounded("SECOND", "2024-08-14T12:34:56", "2024-08-14T12:34:57");
        assertRounded("MINUTE", "2024-08-14T12:34", "2024-08-14T12:35");
        assertRounded("HOUR", "2024-08-14T12:00", "2024-08-14T13:00");
        assertRounded("DAY", "2024-08-14T00:00", "2024-08-15T00:00");
        assertRounded("WEEK", "2024-08-11T00:00", "2024-08-18T00:00");
        assertRounded("MONTH", "2024-08-01T00:00", "2024-09-01T00:00");
        assertRounded("QUARTER", "2024-07-01T00:00", "2024-10-01T00:00");
        assertRounded("YEAR", "2024-01-01T00:00", "2025-01-01T00:00");
        assertRounded("DECADE", "2020-01-01T00:00", "2030-01-01T00:00");
        assertRounded("CENTURY", "2001-01-01T00:00", "2101-01-01T00:00");
        assertRounded("MILLENNIUM", "2001-01-01T00:00", "3001-01-01T00:00");
    }
}
