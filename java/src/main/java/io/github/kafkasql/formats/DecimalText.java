package io.github.kafkasql.formats;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.RoundingMode;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * A number of any length, as digits and an exponent of ten.
 *
 * <p>It accepts what BigDecimal's constructor does, which takes a time that is quadratic in the digits.
 */
public final class DecimalText {
    // possessive, so that a text is read once
    private static final Pattern NUMBER =
        Pattern.compile(
            "([+-]?+)(D*+)(?:\\.(D*+))?+(?:[eE]([+-]?+)0*+(D*+)(?<=D))?+"
                .replace("D", "[\\p{Nd}&&[^\\x{10000}-\\x{10FFFF}]]"));
    private static final int MAX_EXPONENT_DIGITS = 10;
    private static final int MAX_LENGTH = 100; // of what is left to BigDecimal

    private final boolean isNegative;
    private final String digits; // without zeros at either end; empty for 0
    private final long exponent; // of the last digit

    /** Throws NumberFormatException with what was expected. */
    public DecimalText(String text) {
        Matcher match = NUMBER.matcher(text);
        if (!match.matches()) throw new NumberFormatException("expected a number");
        String fraction = match.group(3) == null ? "" : match.group(3);
        String all = match.group(2) + fraction;
        if (all.isEmpty()) throw new NumberFormatException("expected a number");
        long scale = fraction.length() - parseExponent(match.group(4), match.group(5));
        if (scale != (int) scale) throw outOfRange();
        int start = 0;
        int end = all.length();
        while (end > 0 && digit(all, end - 1) == 0) end--;
        while (start < end && digit(all, start) == 0) start++;
        StringBuilder digits = new StringBuilder(end - start);
        for (int i = start; i < end; i++) digits.append((char) ('0' + digit(all, i)));
        this.isNegative = match.group(1).equals("-");
        this.digits = digits.toString();
        this.exponent = all.length() - end - scale;
    }

    private static int digit(String text, int index) {
        return Character.digit(text.charAt(index), 10);
    }

    private static long parseExponent(String sign, String digits) {
        if (sign == null || digits.isEmpty()) return 0;
        if (digits.length() > MAX_EXPONENT_DIGITS) throw outOfRange();
        long exponent = Long.parseLong(sign + digits);
        if (exponent != (int) exponent) throw outOfRange();
        return exponent;
    }

    private static NumberFormatException outOfRange() {
        return new NumberFormatException("expected a number with an exponent of 32 bits");
    }

    /** Returns a number rounded half up; null if it is too large. */
    public static Decimal toDecimal(String text, DecimalType type) {
        BigDecimal number = text.length() <= MAX_LENGTH ? new BigDecimal(text) : new DecimalText(text).toBigDecimal();
        long kept = (long) number.precision() - number.scale() + type.scale(); // digits that are not rounded off
        if (number.signum() == 0 || kept < 0) number = BigDecimal.ZERO;
        else if (kept > type.precision()) return null;
        BigDecimal rounded = number.setScale(type.scale(), RoundingMode.HALF_UP);
        return rounded.precision() > type.precision() ? null : Decimal.apply(rounded, type.precision(), type.scale());
    }

    /** Returns the number with so many digits that it is rounded to any DECIMAL alike. */
    private BigDecimal toBigDecimal() {
        if (digits.isEmpty()) return BigDecimal.ZERO;
        int size = Math.min(digits.length(), MAX_LENGTH);
        long scale = Math.max(size - digits.length() - exponent, Integer.MIN_VALUE);
        BigInteger unscaled = new BigInteger(digits.substring(0, size));
        return new BigDecimal(isNegative ? unscaled.negate() : unscaled, (int) scale);
    }

    /** Returns what BigDecimal.stripTrailingZeros().toString() returns. */
    @Override
    public String toString() {
        if (digits.isEmpty()) return "0";
        String sign = isNegative ? "-" : "";
        int length = digits.length();
        long adjusted = exponent + length - 1;
        if (exponent > 0 || adjusted < -6) {
            String fraction = length > 1 ? "." + digits.substring(1) : "";
            return sign + digits.charAt(0) + fraction + "E" + (adjusted < 0 ? "" : "+") + adjusted;
        }
        if (exponent == 0) return sign + digits;
        int point = (int) adjusted + 1;
        return point > 0
            ? sign + digits.substring(0, point) + "." + digits.substring(point)
            : sign + "0." + "0".repeat(-point) + digits;
    }
}
