package io.github.kafkasql.functions;

import java.util.Base64;
import java.util.List;
import java.util.function.IntPredicate;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** Functions of strings that Flink evaluates by UTF-16 code units or bytes. */
final class Strings {
    static final List<FlinkFunction> ALL = List.of(
        new Ascii(),
        new FromBase64(),
        new Initcap(),
        new IsAlpha(),
        new IsDecimal(),
        new IsDigit(),
        new Lpad(),
        new Overlay(),
        new Rpad());

    private static final Pattern INTEGER = Pattern.compile("[-+]?[\\p{Nd}&&[^\\x{10000}-\\x{10FFFF}]]{1,18}");

    private Strings() {}

    /** The first byte, from -128 to 127. */
    public static final class Ascii extends FlinkFunction {
        public static Integer invoke(UTF8String text) {
            if (text == null) return null;
            return text.numBytes() == 0 ? 0 : (int) text.getByte(0);
        }
    }

    public static final class FromBase64 extends FlinkFunction {
        public static UTF8String invoke(UTF8String text) {
            if (text == null) return null;
            UTF8String decoded;
            try {
                decoded = UTF8String.fromBytes(Base64.getDecoder().decode(text.getBytes()));
            } catch (IllegalArgumentException e) {
                throw error("IllegalArgumentException: illegal base64", text);
            }
            if (!decoded.isValid()) throw error("the bytes are not valid UTF-8");
            return decoded;
        }
    }

    /** Words of ASCII letters and digits start with a capital letter. */
    public static final class Initcap extends FlinkFunction {
        public static UTF8String invoke(UTF8String text) {
            if (text == null) return null;
            byte[] bytes = text.getBytes().clone();
            boolean isInWord = false;
            for (int i = 0; i < bytes.length; i++) {
                char character = (char) (bytes[i] & 0xFF);
                if (isInWord) bytes[i] = (byte) (character >= 'A' && character <= 'Z' ? character + 32 : character);
                else bytes[i] = (byte) (character >= 'a' && character <= 'z' ? character - 32 : character);
                isInWord = character < 0x80 && Character.isLetterOrDigit(character);
            }
            return UTF8String.fromBytes(bytes);
        }
    }

    public static final class IsAlpha extends FlinkFunction {
        public static boolean invoke(UTF8String text) {
            return consistsOf(text, Character::isLetter);
        }
    }

    public static final class IsDigit extends FlinkFunction {
        public static boolean invoke(UTF8String text) {
            return consistsOf(text, Character::isDigit);
        }
    }

    private static boolean consistsOf(UTF8String text, IntPredicate test) {
        return text != null && text.numBytes() > 0 && text.toString().chars().allMatch(test);
    }

    /** Whether a text is an integer with the digits of any script, or a number that Java can parse. */
    public static final class IsDecimal extends FlinkFunction {
        public static boolean invoke(UTF8String text) {
            if (text == null) return false;
            try {
                Double.parseDouble(text.toString());
                return true;
            } catch (NumberFormatException e) {
                return INTEGER.matcher(text.toString()).matches();
            }
        }
    }

    public static final class Lpad extends FlinkFunction {
        public static UTF8String invoke(UTF8String text, int length, UTF8String padding) {
            return text == null ? null : pad(text, length, padding, true);
        }
    }

    public static final class Rpad extends FlinkFunction {
        public static UTF8String invoke(UTF8String text, int length, UTF8String padding) {
            return text == null ? null : pad(text, length, padding, false);
        }
    }

    private static UTF8String pad(UTF8String text, int length, UTF8String padding, boolean isLeft) {
        String value = text.toString(), pad = padding.toString();
        if (length <= value.length()) return UTF8String.fromString(value.substring(0, length));
        int missing = length - value.length();
        String filler = pad.repeat(missing / pad.length() + 1).substring(0, missing);
        return UTF8String.fromString(isLeft ? filler + value : value + filler);
    }

    /** The start is 1 for the first character; a negative length stands for that of the replacement. */
    public static final class Overlay extends FlinkFunction {
        public static UTF8String invoke(UTF8String text, UTF8String replacement, int start, int length) {
            if (text == null || replacement == null) return null;
            String value = text.toString();
            if (start > value.length()) return text;
            long replaced = length < 0 ? replacement.toString().length() : length;
            long end = Math.min(start - 1 + replaced, value.length());
            return UTF8String.fromString(value.substring(0, start - 1) + replacement + value.substring((int) end));
        }
    }
}
