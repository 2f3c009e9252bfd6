package io.github.kafkasql.realtime;

import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * A number that BigDecimal's constructor accepts, as digits and an exponent of ten.
 *
 * <p>BigDecimal itself takes a time that is quadratic in the digits, to parse them and to strip zeros.
 */
final class DecimalText {
    private final boolean isNegative;
    private final String digits; // without zeros at either end; empty for 0
    private final long exponent; // of the last digit

    /** Throws NumberFormatException with what was expected. */
    DecimalText(String text) {
        StringBuilder digits = new StringBuilder();
        boolean hasPoint = false;
        int count = 0; // of all digits
        int fraction = 0;
        int i = 0;
        if (!text.isEmpty() && isSign(text.charAt(0))) i++;
        this.isNegative = i > 0 && text.charAt(0) == '-';
        for (; i < text.length(); i++) {
            char c = text.charAt(i);
            int digit = Character.digit(c, 10);
            if (digit >= 0) {
                if (digit > 0 || digits.length() > 0) digits.append((char) ('0' + digit));
                count++;
                if (hasPoint) fraction++;
            } else if (c == '.' && !hasPoint) {
                hasPoint = true;
            } else {
                break;
            }
        }
        if (count == 0) throw new NumberFormatException("expected a number");
        long scale = fraction - parseExponent(text, i);
        if (scale != (int) scale) throw outOfRange();
        int length = digits.length();
        while (length > 0 && digits.charAt(length - 1) == '0') length--;
        this.digits = digits.substring(0, length);
        this.exponent = digits.length() - length - scale;
    }

    private static boolean isSign(char c) {
        return c == '+' || c == '-';
    }

    private static long parseExponent(String text, int start) {
        if (start == text.length()) return 0;
        int i = start + 1;
        if (i < text.length() && isSign(text.charAt(i))) i++;
        boolean isExponent = Character.toLowerCase(text.charAt(start)) == 'e' && i < text.length();
        long exponent = 0;
        for (; isExponent && i < text.length(); i++) {
            int digit = Character.digit(text.charAt(i), 10);
            isExponent = digit >= 0;
            exponent = Math.min(exponent * 10 + digit, 1L << 32);
        }
        if (!isExponent) throw new NumberFormatException("expected a number");
        if (text.charAt(start + 1) == '-') exponent = -exponent;
        if (exponent != (int) exponent) throw outOfRange();
        return exponent;
    }

    private static NumberFormatException outOfRange() {
        return new NumberFormatException("expected a number with an exponent of 32 bits");
    }

    /** Returns the number rounded half up; null if it is too large. */
    Decimal toDecimal(DecimalType type) {
        long kept = digits.length() + exponent + type.scale(); // digits before those that are rounded off
        if (!digits.isEmpty() && kept > type.precision()) return null;
        BigInteger unscaled = BigInteger.ZERO;
        if (!digits.isEmpty() && kept >= 0) {
            int size = Math.min((int) kept, digits.length());
            if (size > 0) unscaled = new BigInteger(digits.substring(0, size)).multiply(BigInteger.TEN.pow((int) kept - size));
            if (size < digits.length() && digits.charAt(size) >= '5') unscaled = unscaled.add(BigInteger.ONE);
        }
        BigDecimal rounded = new BigDecimal(isNegative ? unscaled.negate() : unscaled, type.scale());
        return rounded.precision() > type.precision() ? null : Decimal.apply(rounded, type.precision(), type.scale());
    }

    /** Writes what BigDecimal.stripTrailingZeros().toString() returns. */
    void write(StringBuilder out) {
        if (digits.isEmpty()) {
            out.append('0');
            return;
        }
        if (isNegative) out.append('-');
        int length = digits.length();
        long adjusted = exponent + length - 1;
        if (exponent > 0 || adjusted < -6) {
            out.append(digits.charAt(0));
            if (length > 1) out.append('.').append(digits, 1, length);
            out.append('E').append(adjusted < 0 ? "" : "+").append(adjusted);
        } else if (adjusted >= 0) {
            out.append(digits, 0, (int) adjusted + 1);
            if (exponent < 0) out.append('.').append(digits, (int) adjusted + 1, length);
        } else {
            out.append("0.");
            for (long i = adjusted; i < -1; i++) out.append('0');
            out.append(digits);
        }
    }
}
