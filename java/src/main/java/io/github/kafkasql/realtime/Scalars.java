package io.github.kafkasql.realtime;

import java.io.ByteArrayOutputStream;
import java.util.Base64;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** Converts strings to values. A string of another form raises NumberFormatException with what was expected. */
final class Scalars {
    private static final Pattern BASE64 =
        Pattern.compile(
            "(?:[\\x00-\\x20]*+(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*+[\\x00-\\x20]*+");

    static boolean isTrue(String text) {
        return "true".equalsIgnoreCase(text.trim());
    }

    static long toLong(String text, int bits, String sqlType) {
        try {
            long number = Long.parseLong(text.trim());
            if (number >= low(bits) && number <= high(bits)) return number;
        } catch (NumberFormatException e) {
            // reported below
        }
        throw outOfRange(bits, sqlType);
    }

    /** Converts a number with a fraction or an exponent, through a double. */
    static long truncate(String text, int bits, String sqlType) {
        double number = Double.parseDouble(text);
        if (number >= (double) low(bits) && number <= (double) high(bits)) return (long) number;
        throw outOfRange(bits, sqlType);
    }

    private static long high(int bits) {
        return bits == 64 ? Long.MAX_VALUE : (1L << (bits - 1)) - 1;
    }

    private static long low(int bits) {
        return -high(bits) - 1;
    }

    private static NumberFormatException outOfRange(int bits, String sqlType) {
        return new NumberFormatException("expected " + sqlType + " (" + low(bits) + " to " + high(bits) + ")");
    }

    static double toDouble(String text) {
        try {
            return Double.parseDouble(text.trim());
        } catch (NumberFormatException e) {
            throw new NumberFormatException("expected a number");
        }
    }

    static float toFloat(String text) {
        toDouble(text);
        return Float.parseFloat(text.trim());
    }

    /** Returns the number rounded half up; null if it is too large. */
    static Decimal toDecimal(String text, DecimalType type) {
        DecimalText number;
        try {
            number = new DecimalText(text.trim());
        } catch (NumberFormatException e) {
            throw new NumberFormatException("expected DECIMAL(" + type.precision() + ", " + type.scale() + ")");
        }
        return number.toDecimal(type);
    }

    /** Decodes base64 with padding. text: null for a value that is not a string. */
    static byte[] toBytes(String text) {
        if (text == null || !BASE64.matcher(text).matches()) {
            throw new NumberFormatException("expected base64 text with padding");
        }
        StringBuilder digits = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) > ' ') digits.append(text.charAt(i));
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        int start = 0; // each padded part is decoded separately
        for (int end = 4; end <= digits.length(); end += 4) {
            if (end == digits.length() || digits.charAt(end - 1) == '=') {
                byte[] part = Base64.getDecoder().decode(digits.substring(start, end));
                out.write(part, 0, part.length);
                start = end;
            }
        }
        return out.toByteArray();
    }

    private Scalars() {}
}
