package io.github.kafkasql.functions;

import static io.github.kafkasql.functions.TimeReader.INVALID;

import io.github.kafkasql.formats.DecimalText;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** CAST of strings, with Flink's rules for valid text. Other text is an error, or null if {@code is_try} is true. */
public final class StringCasts {
    static final List<FlinkFunction> ALL =
        List.of(new ToInteger(), new ToFloat(), new ToDouble(), new ToDecimal(), new ToDate());

    private StringCasts() {}

    private static <T> T invalid(UTF8String text, String type, boolean isTry) {
        if (isTry) return null;
        throw FlinkFunction.error("NumberFormatException: not a valid " + type + ". For input string", text);
    }

    /** {@code cast_to_integer(text, bits, is_try)}: a fraction is cut off. */
    public static final class ToInteger extends FlinkFunction {
        ToInteger() {
            super("cast_to_integer", BIGINT, STRING, INT, BOOLEAN);
        }

        public static Long invoke(UTF8String text, int bits, boolean isTry) {
            if (text == null) return null;
            int start = 0;
            int end = text.numBytes();
            while (start < end && text.getByte(start) == ' ') start++;
            while (start < end && text.getByte(end - 1) == ' ') end--;
            boolean isNegative = start < end && text.getByte(start) == '-';
            if (isNegative || (start < end && text.getByte(start) == '+')) start++;
            int point = start;
            long value = 0; // negative, because there is one more negative number
            boolean isValid = start < end;
            for (; point < end && text.getByte(point) != '.'; point++) {
                int digit = text.getByte(point) - '0';
                isValid &= digit >= 0 && digit <= 9 && value >= (Long.MIN_VALUE + digit) / 10;
                value = value * 10 - digit;
            }
            for (int i = point + 1; i < end; i++) isValid &= text.getByte(i) >= '0' && text.getByte(i) <= '9';
            long limit = Long.MIN_VALUE >> (64 - bits);
            if (isValid && value >= (isNegative ? limit : limit + 1)) return isNegative ? value : -value;
            return invalid(text, bits == 64 ? "BIGINT" : bits == 32 ? "INT" : bits == 16 ? "SMALLINT" : "TINYINT", isTry);
        }
    }

    /** {@code cast_to_float(text, is_try)}. */
    public static final class ToFloat extends FlinkFunction {
        ToFloat() {
            super("cast_to_float", FLOAT, STRING, BOOLEAN);
        }

        public static Float invoke(UTF8String text, boolean isTry) {
            if (text == null) return null;
            try {
                return Float.parseFloat(text.toString());
            } catch (NumberFormatException e) {
                return invalid(text, "FLOAT", isTry);
            }
        }
    }

    /** {@code cast_to_double(text, is_try)}. */
    public static final class ToDouble extends FlinkFunction {
        ToDouble() {
            super("cast_to_double", DOUBLE, STRING, BOOLEAN);
        }

        public static Double invoke(UTF8String text, boolean isTry) {
            if (text == null) return null;
            try {
                return Double.parseDouble(text.toString());
            } catch (NumberFormatException e) {
                return invalid(text, "DOUBLE", isTry);
            }
        }
    }

    /** {@code cast_to_decimal(text, CAST(NULL AS DECIMAL(p, s)), is_try)}: a number that is too large is not valid. */
    public static final class ToDecimal extends FlinkFunction {
        private static final Pattern WITH_SUFFIX = Pattern.compile("\\s*[-+]?[0-9.]*[^0-9\\s]\\s*|[\\x00-~]*[^\\x00-~].*", Pattern.DOTALL);
        private final DecimalType type;

        ToDecimal() {
            this(DataTypes.createDecimalType());
        }

        private ToDecimal(DecimalType type) {
            super("cast_to_decimal", type, STRING, type, BOOLEAN);
            this.type = type;
        }

        @Override
        public BoundFunction bind(StructType arguments) {
            return new ToDecimal((DecimalType) arguments.fields()[1].dataType());
        }

        public Decimal invoke(UTF8String text, @SuppressWarnings("unused") Decimal ofType, boolean isTry) {
            if (text == null) return null;
            try {
                Decimal value = DecimalText.toDecimal(text.toString().trim(), type);
                if (value != null) return value;
            } catch (NumberFormatException e) {
                // Flink's TRY_CAST ignores a letter after the number
                boolean isSupported = !WITH_SUFFIX.matcher(text.toString()).matches();
                return invalid(text, type.sql(), isTry && isSupported);
            }
            return invalid(text, type.sql(), isTry);
        }
    }

    /** {@code cast_to_date(text, is_try)}: what a text starts with; a missing month or day is 1. */
    public static final class ToDate extends FlinkFunction {
        ToDate() {
            super("cast_to_date", DATE, STRING, BOOLEAN);
        }

        public static Integer invoke(UTF8String text, boolean isTry) {
            if (text == null) return null;
            long day = parse(text.toString());
            if (day != INVALID) return (int) day;
            if (isTry) return null;
            throw error("DateTimeException: not a valid DATE. For input string", text);
        }

        /** A date ends at the first space, unless the text starts with one. */
        private static long parse(String text) {
            int end = text.indexOf(' ');
            String[] parts = (end > 0 ? text.substring(0, end) : text).split("-", -1);
            if (parts.length > 3) return INVALID;
            int month = parts.length > 1 ? number(parts[1], 2) : 1;
            int day = parts.length > 2 ? number(parts[2], 2) : 1;
            return TimeReader.toEpochDay(number(parts[0], 4), month, day);
        }

        private static int number(String part, int maxDigits) {
            String digits = part.trim();
            if (digits.isEmpty()) return -1;
            int value = 0;
            for (int i = 0; i < digits.length(); i++) {
                int digit = digits.charAt(i) - '0';
                if (digit < 0 || digit > 9 || value > 999) return -1;
                value = value * 10 + digit;
            }
            return value >= Math.pow(10, maxDigits) ? -1 : value;
        }
    }
}
