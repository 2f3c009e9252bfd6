package io.github.kafkasql.functions;

import java.time.DayOfWeek;
import java.time.LocalDate;
import java.time.temporal.IsoFields;
import java.time.temporal.TemporalAdjusters;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/** Functions that round numbers and timestamps, and count between timestamps. */
public final class Rounding {
    static final List<FlinkFunction> ALL = List.of(
        new Floor(), new Ceil(), new FloorTo(), new FloorInstantTo(), new CeilTo(), new Truncate(), new Since1970(),
        new Timestampdiff());

    private static final Memo<Unit> UNITS = new Memo<>(name -> Unit.valueOf(name.toString()));

    private static final UTF8String FLOOR = UTF8String.fromString("FLOOR of a timestamp");

    private Rounding() {}

    private enum Unit {
        SECOND(Times.SECOND), MINUTE(60 * Times.SECOND), HOUR(3600 * Times.SECOND), DAY(Times.DAY), WEEK(7 * Times.DAY),
        MONTH(1), QUARTER(3), YEAR(12), DECADE(120), CENTURY(1200), MILLENNIUM(12000);

        private final long size; // in microseconds, or from MONTH on in months

        Unit(long size) {
            this.size = size;
        }

        private boolean isMonths() {
            return compareTo(MONTH) >= 0;
        }

        /** Return the start of the unit that contains a day. A century starts with the year 1, a decade does not. */
        private LocalDate floor(LocalDate date) {
            int years = (int) size / 12;
            return switch (this) {
                case WEEK -> date.with(TemporalAdjusters.previousOrSame(DayOfWeek.SUNDAY));
                case MONTH -> date.withDayOfMonth(1);
                case QUARTER -> date.with(IsoFields.DAY_OF_QUARTER, 1);
                case CENTURY, MILLENNIUM -> LocalDate.of(date.getYear() - (date.getYear() - 1) % years, 1, 1);
                default -> LocalDate.of(date.getYear() - date.getYear() % years, 1, 1);
            };
        }
    }

    /** {@code floor(number)}. */
    public static final class Floor extends FlinkFunction {
        public static double invoke(double number) {
            return Math.floor(number);
        }
    }

    /** {@code ceil(number)}. */
    public static final class Ceil extends FlinkFunction {
        public static double invoke(double number) {
            return Math.ceil(number);
        }
    }

    /** {@code floor_to(time, unit)}. */
    public static final class FloorTo extends FlinkFunction {
        @Sql("TIMESTAMP_NTZ")
        public static long invoke(@Sql("TIMESTAMP_NTZ") long time, UTF8String name) {
            Unit unit = UNITS.get(name);
            return unit.compareTo(Unit.WEEK) < 0
                ? time - Math.floorMod(time, unit.size)
                : unit.floor(date(time)).toEpochDay() * Times.DAY;
        }
    }

    /** {@code floor_instant_to(instant, unit, zone)}: to seconds, minutes or hours of the local time. */
    public static final class FloorInstantTo extends FlinkFunction {
        @Sql("TIMESTAMP_LTZ")
        public static long invoke(@Sql("TIMESTAMP_LTZ") long instant, UTF8String name, UTF8String zone) {
            long local = Since1970.invoke(Times.toLocal(instant, zone), FLOOR);
            return instant - Math.floorMod(local, UNITS.get(name).size);
        }
    }

    /**
     * {@code ceil_to(time, unit)}.
     *
     * <p>As in Flink, weeks and longer units ignore the time of day, and the start of a decade is rounded up, too.
     */
    public static final class CeilTo extends FlinkFunction {
        @Sql("TIMESTAMP_NTZ")
        public static long invoke(@Sql("TIMESTAMP_NTZ") long time, UTF8String name) {
            Unit unit = UNITS.get(name);
            long floor = FloorTo.invoke(time, name);
            long start = unit.compareTo(Unit.WEEK) < 0 ? time : time - Math.floorMod(time, Times.DAY);
            if (floor == start && unit.compareTo(Unit.DECADE) < 0) return start;
            return unit.isMonths() ? date(floor).plusMonths(unit.size).toEpochDay() * Times.DAY : floor + unit.size;
        }
    }

    /** {@code truncate(time, digits)}: with so many digits of a fraction of a second. */
    public static final class Truncate extends FlinkFunction {
        @Sql("TIMESTAMP_NTZ")
        public static long invoke(@Sql("TIMESTAMP_NTZ") long time, int digits) {
            return truncate(time, digits);
        }
    }

    static long truncate(long time, int digits) {
        long size = Times.SECOND;
        for (int i = 0; i < digits; i++) size /= 10;
        return size <= 1 ? time : time - Math.floorMod(time, size);
    }

    /** {@code since_1970(time, function)}: the time, or an error if it is before 1970. */
    public static final class Since1970 extends FlinkFunction {
        @Sql("TIMESTAMP_NTZ")
        public static long invoke(@Sql("TIMESTAMP_NTZ") long time, UTF8String function) {
            if (time < 0) throw error(function + " before 1970, which Flink rounds up", Times.toString(time));
            return time;
        }
    }

    /** {@code timestampdiff(unit, start, end)}. */
    public static final class Timestampdiff extends FlinkFunction {
        public static Integer invoke(UTF8String name, @Sql("TIMESTAMP_NTZ") long start, @Sql("TIMESTAMP_NTZ") long end) {
            Unit unit = UNITS.get(name);
            if (unit.isMonths()) return (int) (months(start, end) / unit.size);
            long seconds = (Math.floorDiv(end, 1000L) - Math.floorDiv(start, 1000L)) / 1000;
            if (unit == Unit.WEEK) seconds = (int) seconds; // it overflows after 68 years in Flink
            return (int) (seconds / (unit.size / Times.SECOND));
        }

        /** Return the full months between the days, one less if they lead past the time of day. */
        private static long months(long start, long end) {
            LocalDate first = date(start);
            LocalDate last = date(end);
            long months = last.isBefore(first) ? -fullMonths(last, first) : fullMonths(first, last);
            boolean isPast = first.plusMonths(months).equals(last) && timeOfDay(end) < timeOfDay(start);
            return isPast ? months - 1 : months;
        }

        private static long fullMonths(LocalDate first, LocalDate last) {
            long months = (last.getYear() - first.getYear()) * 12L + last.getMonthValue() - first.getMonthValue();
            return first.plusMonths(months).isAfter(last) ? months - 1 : months;
        }

        private static long timeOfDay(long time) {
            return Math.floorMod(time, Times.DAY) / 1000;
        }
    }

    private static LocalDate date(long time) {
        return LocalDate.ofEpochDay(Math.floorDiv(time, Times.DAY));
    }
}
