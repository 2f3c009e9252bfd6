package io.github.kafkasql.realtime;

import java.io.Serializable;

/** The options of the csv format. If {@code quote} or {@code escape} is -1, there is no such character. */
public final class CsvRules implements Serializable {
    final char separator;
    final char elementSeparator;
    final int quote;
    final int escape;
    final String nullLiteral;
    private final int flags;

    public static final int TRIM_SPACES = 1;
    public static final int ALLOW_COMMENTS = 2;
    public static final int IGNORE_ERRORS = 4;
    public static final int IGNORE_EXTRA = 8;
    public static final int ALLOW_TRAILING_COMMA = 16;
    public static final int FAIL_ON_MISSING = 32;
    public static final int EMPTY_STRING_AS_NULL = 64;
    public static final int PLAIN_DECIMALS = 128;

    public CsvRules(int separator, int elementSeparator, int quote, int escape, String nullLiteral, int flags) {
        this.separator = (char) separator;
        this.elementSeparator = (char) elementSeparator;
        this.quote = quote;
        this.escape = escape;
        this.nullLiteral = nullLiteral;
        this.flags = flags;
    }

    boolean has(int flag) {
        return (flags & flag) != 0;
    }

    boolean isNull(String text) {
        return text.equals(nullLiteral) || (text.isEmpty() && has(EMPTY_STRING_AS_NULL));
    }
}
