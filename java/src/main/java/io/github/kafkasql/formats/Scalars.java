package io.github.kafkasql.formats;

import com.fasterxml.jackson.core.Base64Variants;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.TimeType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** Converts strings to values as Flink does. */
public final class Scalars {
    /** Returns the converter to a type. standard: how timestamps are written. */
    public static Converter<String> converter(DataType type, TimestampStandard standard) {
        if (type instanceof BooleanType) return text -> Boolean.parseBoolean(text.trim());
        if (type instanceof ByteType) return text -> (byte) toLong(text, 8, "TINYINT");
        if (type instanceof ShortType) return text -> (short) toLong(text, 16, "SMALLINT");
        if (type instanceof IntegerType) return text -> (int) toLong(text, 32, "INT");
        if (type instanceof LongType) return text -> toLong(text, 64, "BIGINT");
        if (type instanceof DoubleType) return Scalars::toDouble;
        if (type instanceof FloatType) return Scalars::toFloat;
        if (type instanceof DecimalType decimal) return text -> toDecimal(text.trim(), decimal);
        if (type instanceof DateType) return Times::parseDate;
        if (type instanceof TimeType) return text -> Times.parseTime(text, Times.SQL_TIME);
        if (type instanceof TimestampType) return text -> standard.parse(text, true);
        if (type instanceof TimestampNTZType) return text -> standard.parse(text, false);
        throw new IllegalStateException("unsupported type " + type);
    }

    private static long toLong(String text, int bits, String sqlType) {
        try {
            long number = Long.parseLong(text.trim());
            if (number >= low(bits) && number <= high(bits)) return number;
        } catch (NumberFormatException e) {
            // reported below
        }
        throw outOfRange(bits, sqlType);
    }

    /** Returns the converter of numbers with a fraction or an exponent to INT or BIGINT, through a double. */
    public static Converter<String> truncatingConverter(DataType type) {
        if (type instanceof IntegerType) return text -> (int) truncate(text, 32, "INT");
        return text -> truncate(text, 64, "BIGINT");
    }

    private static long truncate(String text, int bits, String sqlType) {
        double number = Double.parseDouble(text);
        if (number >= low(bits) && number <= high(bits)) return (long) number;
        throw outOfRange(bits, sqlType);
    }

    private static long high(int bits) {
        return Long.MAX_VALUE >> (64 - bits);
    }

    private static long low(int bits) {
        return Long.MIN_VALUE >> (64 - bits);
    }

    private static NumberFormatException outOfRange(int bits, String sqlType) {
        return new NumberFormatException("expected " + sqlType + " (" + low(bits) + " to " + high(bits) + ")");
    }

    private static double toDouble(String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            throw new NumberFormatException("expected a number");
        }
    }

    private static float toFloat(String text) {
        try {
            return Float.parseFloat(text);
        } catch (NumberFormatException e) {
            throw new NumberFormatException("expected a number");
        }
    }

    private static Decimal toDecimal(String text, DecimalType type) {
        try {
            return DecimalText.toDecimal(text, type);
        } catch (NumberFormatException e) {
            throw new NumberFormatException("expected DECIMAL(" + type.precision() + ", " + type.scale() + ")");
        }
    }

    /** Decodes base64 as Jackson does: with padding, and white space between groups of four. */
    public static byte[] toBytes(String text) {
        try {
            return Base64Variants.getDefaultVariant().decode(text);
        } catch (IllegalArgumentException e) {
            throw new NumberFormatException("expected base64 text with padding");
        }
    }

    private Scalars() {}
}
