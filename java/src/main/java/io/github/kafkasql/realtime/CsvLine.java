package io.github.kafkasql.realtime;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.util.ArrayList;
import java.util.List;

/** Reads the values of the first line of a payload, as Jackson's CsvParser does. */
final class CsvLine {
    private static final int END = -1;

    private final String text;
    private final CsvRules rules;
    private int position = 0;
    private boolean hasNext = true; // whether another value follows

    /** Throws Mismatch if the payload is not text. */
    CsvLine(byte[] payload, CsvRules rules) {
        this.text = decodeText(payload);
        this.rules = rules;
    }

    /** Returns at most as many values as there are columns. */
    List read(int columns) {
        if (rules.has(CsvRules.ALLOW_COMMENTS)) skipComments();
        if (position == text.length()) throw invalid("is empty: no content to map due to end-of-input");
        List values = new ArrayList(columns);
        while (hasNext && values.size() < columns) values.add(readValue());
        if (values.size() < columns && rules.has(CsvRules.FAIL_ON_MISSING)) {
            throw invalid("has not enough column values: expected " + columns + ", found " + values.size());
        }
        if (hasNext) checkTrailingValues(columns);
        return values;
    }

    private void checkTrailingValues(int columns) {
        String value = readValue();
        if (rules.has(CsvRules.IGNORE_EXTRA)) {
            while (hasNext) readValue();
        } else if (!rules.has(CsvRules.ALLOW_TRAILING_COMMA) || !value.trim().isEmpty() || hasNext) {
            String found = value.substring(0, Math.min(20, value.length()));
            throw invalid("has too many entries: expected at most " + columns + ", found also '" + found + "'");
        }
    }

    private void skipComments() {
        for (int c = peek(); c == '#' || c == ' ' || c == '\r' || c == '\n'; c = peek()) {
            position++;
            if (c == '#') {
                while (peek() != END && !isLineEnd(peek())) position++;
            }
        }
    }

    private static boolean isLineEnd(int c) {
        return c == '\r' || c == '\n';
    }

    private int peek() {
        if (position >= text.length()) return END;
        return text.charAt(position);
    }

    private int next() {
        int c = peek();
        position++;
        return c;
    }

    private String readValue() {
        if (rules.has(CsvRules.TRIM_SPACES)) {
            for (int c = peek(); c != END && c <= ' ' && c != rules.separator && !isLineEnd(c); c = peek()) position++;
        }
        if (rules.quote >= 0 && peek() == rules.quote) {
            position++;
            return readQuoted();
        }
        StringBuilder value = new StringBuilder();
        for (int c = next(); !endsValue(c); c = next()) value.append(c == rules.escape ? readEscaped() : (char) c);
        if (rules.has(CsvRules.TRIM_SPACES)) {
            while (value.length() > 0 && value.charAt(value.length() - 1) <= ' ') value.setLength(value.length() - 1);
        }
        return value.toString();
    }

    private String readQuoted() {
        StringBuilder value = new StringBuilder();
        while (true) {
            int c = next();
            if (c == rules.quote) {
                if (peek() != rules.quote) break;
                position++;
            } else if (c == END) {
                throw invalid("is not valid CSV: missing closing quote for value");
            } else if (c == rules.escape) {
                c = readEscaped();
            }
            value.append((char) c);
        }
        for (int c = next(); !endsValue(c); c = next()) {
            if (c > ' ') {
                String expected = "expected column separator character ('" + rules.separator + "') or end-of-line";
                throw invalid("is not valid CSV: unexpected character '" + (char) c + "': " + expected);
            }
        }
        return value.toString();
    }

    /** Returns whether a character ends a value. Records whether another value follows. */
    private boolean endsValue(int c) {
        if (c == rules.separator) return true;
        hasNext = c != END && !isLineEnd(c);
        return !hasNext;
    }

    private char readEscaped() {
        int c = next();
        if (c == END) throw invalid("is not valid CSV: unexpected end in escaped character");
        if (c == '0') return (char) 0;
        if (c == 'n') return '\n';
        if (c == 'r') return '\r';
        return c == 't' ? '\t' : (char) c;
    }

    static Mismatch invalid(String reason) {
        return new Mismatch(reason, "", false);
    }

    /** Decodes UTF-8; or UTF-16 or UTF-32 if the first bytes indicate it (CsvParserBootstrapper). */
    private static String decodeText(byte[] payload) {
        int length = payload.length;
        if (length >= 4) {
            int first = ByteBuffer.wrap(payload).getInt();
            if (first == 0x0000FEFF) return decode(payload, 4, "UTF-32BE");
            if (first == 0xFFFE0000) return decode(payload, 4, "UTF-32LE");
            if (first >>> 8 == 0xEFBBBF) return decode(payload, 3, "UTF-8");
            if (first >>> 16 == 0xFEFF) return decode(payload, 2, "UTF-16BE");
            if (first >>> 16 == 0xFFFE) return decode(payload, 2, "UTF-16LE");
            if (first >>> 8 == 0 && first != 0) return decode(payload, 0, "UTF-32BE");
            if (first << 8 == 0 && first != 0) return decode(payload, 0, "UTF-32LE");
        }
        if (length >= 2 && payload[0] == 0) return decode(payload, 0, "UTF-16BE");
        if (length >= 2 && payload[1] == 0) return decode(payload, 0, "UTF-16LE");
        return decode(payload, 0, "UTF-8");
    }

    private static String decode(byte[] payload, int start, String charset) {
        try {
            String text =
                Charset.forName(charset)
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(payload, start, payload.length - start))
                    .toString();
            // Java accepts surrogates in UTF-32
            if (!charset.startsWith("UTF-32") || Charset.forName("UTF-8").newEncoder().canEncode(text)) return text;
        } catch (CharacterCodingException e) {
            // reported below
        }
        throw invalid("is not " + charset.toLowerCase());
    }
}
