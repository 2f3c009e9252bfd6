package io.github.kafkasql.formats;

import com.fasterxml.jackson.core.Base64Variants;
import java.time.DateTimeException;
import java.time.LocalDate;
import org.apache.spark.sql.types.*;

/** Converts strings to values as Flink does. */
public final class Scalars {
    private static final String INT = "INT (" + Integer.MIN_VALUE + " to " + Integer.MAX_VALUE + ")";
    private static final String BIGINT = "BIGINT (" + Long.MIN_VALUE + " to " + Long.MAX_VALUE + ")";

    /** Returns the converter to a type. standard: how timestamps are written. */
    public static Converter<String> converter(DataType type, TimestampStandard standard) {
        if (type instanceof BooleanType) return text -> Boolean.parseBoolean(text.trim());
        if (type instanceof ByteType) return expecting("TINYINT (-128 to 127)", text -> Byte.parseByte(text.trim()));
        if (type instanceof ShortType) return expecting("SMALLINT (-32768 to 32767)", text -> Short.parseShort(text.trim()));
        if (type instanceof IntegerType) return expecting(INT, text -> Integer.parseInt(text.trim()));
        if (type instanceof LongType) return expecting(BIGINT, text -> Long.parseLong(text.trim()));
        if (type instanceof DoubleType) return expecting("a number", Double::parseDouble);
        if (type instanceof FloatType) return expecting("a number", Float::parseFloat);
        if (type instanceof DecimalType decimal) {
            String name = "DECIMAL(" + decimal.precision() + ", " + decimal.scale() + ")";
            return expecting(name, text -> DecimalText.toDecimal(text.trim(), decimal));
        }
        if (type instanceof DateType) {
            return expecting("a date such as '2020-12-30'", text -> Math.toIntExact(LocalDate.parse(text).toEpochDay()));
        }
        if (type instanceof TimeType) return expecting(Times.EXPECTED, text -> Times.parseTime(text, Times.SQL_TIME));
        if (type instanceof BinaryType) {
            // with padding, and white space between groups of four
            return expecting("base64 text with padding", text -> Base64Variants.getDefaultVariant().decode(text));
        }
        boolean isUtc = type instanceof TimestampType;
        return expecting(standard.description(isUtc), text -> standard.parse(text, isUtc));
    }

    /** Returns the converter of numbers with a fraction or an exponent to INT or BIGINT, through a double. */
    public static Converter<String> truncatingConverter(DataType type) {
        if (type instanceof LongType) return expecting(BIGINT, text -> truncate(text, Long.MIN_VALUE, Long.MAX_VALUE));
        return expecting(INT, text -> (int) truncate(text, Integer.MIN_VALUE, Integer.MAX_VALUE));
    }

    private static long truncate(String text, long low, long high) {
        double number = Double.parseDouble(text);
        if (number >= low && number <= high) return (long) number;
        throw new ArithmeticException();
    }

    /** Returns a converter whose errors say what was expected. */
    public static Converter<String> expecting(String what, Converter<String> converter) {
        return text -> {
            try {
                return converter.convert(text);
            } catch (IllegalArgumentException | DateTimeException | ArithmeticException e) {
                throw new NumberFormatException("expected " + what);
            }
        };
    }

    private Scalars() {}
}
