package io.github.kafkasql.formats;

import static java.time.format.DateTimeFormatter.ISO_LOCAL_DATE_TIME;
import static java.time.format.DateTimeFormatter.ISO_LOCAL_TIME;
import static java.time.format.DateTimeFormatter.ISO_OFFSET_TIME;

import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;

/** How timestamps are read and written ('timestamp-format.standard'), with the formatters of Flink's TimeFormats. */
public enum TimestampStandard {
    SQL(Times.dateAnd(' ', Times.SQL_TIME, ""), Times.dateAnd(' ', Times.SQL_TIME, "Z")),
    ISO(ISO_LOCAL_DATE_TIME, Times.dateAnd('T', ISO_LOCAL_TIME, "Z")),
    ISO_WITH_OFFSET(Times.dateAnd('T', ISO_OFFSET_TIME, ""), Times.dateAnd('T', ISO_OFFSET_TIME, ""));

    private final DateTimeFormatter local;
    private final DateTimeFormatter utc;

    TimestampStandard(DateTimeFormatter local, DateTimeFormatter utc) {
        this.local = local;
        this.utc = utc;
    }

    /** Returns the microseconds since 1970. isUtc: for TIMESTAMP_LTZ. Throws DateTimeException, ArithmeticException. */
    long parse(String text, boolean isUtc) {
        TemporalAccessor parsed = (isUtc ? utc : local).parse(text);
        LocalDateTime time =
            LocalDateTime.of(parsed.query(TemporalQueries.localDate()), parsed.query(TemporalQueries.localTime()));
        ZoneOffset offset = this == ISO_WITH_OFFSET ? ZoneOffset.from(parsed) : ZoneOffset.UTC;
        return DateTimeUtils.instantToMicros(time.toInstant(offset));
    }

    String description(boolean isUtc) {
        String example = "2020-12-30" + separator() + "12:13:14.123";
        return this == ISO_WITH_OFFSET
            ? "a timestamp with an offset, such as '" + example + "+02:00'"
            : "a timestamp such as '" + example + (isUtc ? "Z'" : "'");
    }

    String format(long micros, boolean isUtc) {
        LocalDateTime time = DateTimeUtils.microsToLocalDateTime(micros);
        String end = isUtc || this == ISO_WITH_OFFSET ? "Z" : "";
        return Times.formatDate(time.toLocalDate()) + separator() + Times.formatTime(time.toLocalTime()) + end;
    }

    private char separator() {
        return this == SQL ? ' ' : 'T';
    }
}
