package io.github.kafkasql.functions;

import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.types.UTF8String;

/** Functions of a text that may be JSON. */
final class JsonText {
    private static final String CHARACTERS = "\"\\/\b\f\n\r\t";
    private static final String LETTERS = "\"\\/bfnrt"; // after a backslash, in the order of the characters

    private static final Pattern HEX = Pattern.compile("[0-9A-Fa-f]{4}");

    private JsonText() {}

    /** Whether a text starts with a JSON value; false for null. */
    public static final class IsJson extends FlinkFunction {
        public static boolean invoke(UTF8String text, UTF8String kind) {
            Object value = text == null ? Json.INVALID : Json.parse(text.toString());
            return value != Json.INVALID && switch (kind.toString()) {
                case "OBJECT" -> value instanceof Map;
                case "ARRAY" -> value instanceof List;
                case "SCALAR" -> !(value instanceof Map || value instanceof List);
                default -> true;
            };
        }
    }

    /** The document of JSON_OBJECT and JSON_ARRAY that is given as a text. */
    public static final class JsonDocument extends FlinkFunction {
        public static UTF8String invoke(UTF8String text, UTF8String function) {
            String trimmed = text == null ? "" : text.toString().trim();
            if (trimmed.isEmpty()) return null;
            Object value = Json.parse(trimmed);
            if (value == Json.INVALID) throw error("Invalid JSON string in JSON(value) function in " + function, text);
            return UTF8String.fromString(Json.write(value));
        }
    }

    /** Of a character beyond U+FFFF, Flink writes the code point and the second code unit. */
    public static final class JsonQuote extends FlinkFunction {
        public static UTF8String invoke(UTF8String text) {
            if (text == null) return null;
            String value = text.toString();
            StringBuilder quoted = new StringBuilder("\"");
            for (int i = 0; i < value.length(); i++) {
                int escaped = CHARACTERS.indexOf(value.charAt(i));
                if (escaped >= 0) quoted.append('\\').append(LETTERS.charAt(escaped));
                else if (value.charAt(i) < 0x80) quoted.append(value.charAt(i));
                else quoted.append("\\u").append(hex(value.codePointAt(i)));
            }
            return UTF8String.fromString(quoted.append('"').toString());
        }

        private static String hex(int codePoint) {
            String digits = Integer.toHexString(codePoint);
            return "0".repeat(Math.max(4 - digits.length(), 0)) + digits;
        }
    }

    /** The text without quotes and escapes if it is a JSON string. */
    public static final class JsonUnquote extends FlinkFunction {
        public static UTF8String invoke(UTF8String text) {
            if (text == null) return null;
            String value = text.toString();
            if (value.length() < 2 || !value.startsWith("\"") || !value.endsWith("\"")) return text;
            return Json.parse(value) == Json.INVALID ? text : UTF8String.fromString(unescape(value));
        }

        /** Return what is between the first and the last quote. Text can follow the JSON string, with other escapes. */
        private static String unescape(String value) {
            StringBuilder result = new StringBuilder();
            int end = value.length() - 1;
            for (int i = 1; i < end; i++) {
                char character = value.charAt(i);
                if (character == '\\') {
                    char letter = value.charAt(++i);
                    int index = LETTERS.indexOf(letter);
                    boolean isUnicode = letter == 'u' && i + 4 < end && HEX.matcher(value).region(i + 1, i + 5).matches();
                    if (i == end || index < 0 && !isUnicode)
                        throw error("JSON_UNQUOTE of JSON that is followed by other text", value);
                    character = index >= 0 ? CHARACTERS.charAt(index) : (char) Integer.parseInt(value, i + 1, i + 5, 16);
                    if (isUnicode) i += 4;
                }
                result.append(character);
            }
            return result.toString();
        }
    }
}
