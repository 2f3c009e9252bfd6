package io.github.kafkasql.functions;

import static io.github.kafkasql.functions.TimeReader.INVALID;

import io.github.kafkasql.formats.DecimalText;
import java.util.List;
import java.util.regex.Matcher;
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
        List.of(new CastToInteger(), new CastToFloat(), new CastToDouble(), new CastToDecimal(), new CastToDate());

    private StringCasts() {}

    private static <T> T invalid(UTF8String text, String type, boolean isTry) {
        if (isTry) return null;
        throw FlinkFunction.error("NumberFormatException: not a valid " + type + ". For input string", text);
    }

    /** {@code cast_to_integer(text, bits, type, is_try)}: a fraction is cut off. */
    public static final class CastToInteger extends FlinkFunction {
        public static Long invoke(UTF8String text, int bits, UTF8String type, boolean isTry) {
            if (text == null) return null;
            UTF8String number = text.trim();
            int length = number.numBytes();
            var value = new UTF8String.LongWrapper();
            // toLong ignores control characters at both ends, too
            boolean isValid = length > 0 && isPrintable(number.getByte(0)) && isPrintable(number.getByte(length - 1));
            if (isValid && number.toLong(value) && value.value << (64 - bits) >> (64 - bits) == value.value)
                return value.value;
            return invalid(text, type.toString(), isTry);
        }

        private static boolean isPrintable(byte character) {
            return character > ' ' && character != 0x7F;
        }
    }

    /** {@code cast_to_float(text, is_try)}. */
    public static final class CastToFloat extends FlinkFunction {
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
    public static final class CastToDouble extends FlinkFunction {
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
    public static final class CastToDecimal extends FlinkFunction {
        private static final Pattern WITH_SUFFIX = Pattern.compile("\\s*[-+]?[0-9.]*[^0-9\\s]\\s*|[\\x00-~]*[^\\x00-~].*", Pattern.DOTALL);
        private final DecimalType type;

        CastToDecimal() {
            this(DataTypes.createDecimalType());
        }

        private CastToDecimal(DecimalType type) {
            super("cast_to_decimal", type, STRING, type, BOOLEAN);
            this.type = type;
        }

        @Override
        public BoundFunction bind(StructType arguments) {
            return new CastToDecimal((DecimalType) arguments.fields()[1].dataType());
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
    public static final class CastToDate extends FlinkFunction {
        private static final Pattern DATE_PARTS = Pattern.compile(
            "S(N{1,4})S(?:-S(N{1,2})S(?:-S(N{1,2})S)?)?".replace("S", "[\\x00-\\x20]*+").replace("(N", "0*([0-9]"));

        @Sql("DATE")
        public static Integer invoke(UTF8String text, boolean isTry) {
            if (text == null) return null;
            String date = text.toString();
            int end = date.indexOf(' '); // of the date, unless the text starts with a space
            Matcher parts = DATE_PARTS.matcher(end > 0 ? date.substring(0, end) : date);
            long day = parts.matches()
                ? TimeReader.toEpochDay(number(parts.group(1)), number(parts.group(2)), number(parts.group(3)))
                : INVALID;
            if (day != INVALID) return (int) day;
            if (isTry) return null;
            throw error("DateTimeException: not a valid DATE. For input string", text);
        }

        private static int number(String digits) {
            return digits == null ? 1 : Integer.parseInt(digits);
        }
    }
}
