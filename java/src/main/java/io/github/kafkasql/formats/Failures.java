package io.github.kafkasql.formats;

/** Errors of tasks that the driver converts to the errors of kafka_sql.errors, by their text. */
public final class Failures {
    /** A row that cannot be encoded. */
    public static final class Unencodable extends RuntimeException {
        public final String reason;

        Unencodable(String reason) {
            super("kafka_sql.errors.EncodeError: [ENCODE] " + oneLine(reason));
            this.reason = reason;
        }
    }

    public static RuntimeException decode(String message) {
        return new RuntimeException("kafka_sql.errors.DecodeError: [DECODE] " + oneLine(message));
    }

    public static RuntimeException encode(String reason) {
        return new Unencodable(reason);
    }

    static String oneLine(String text) {
        return text.replace('\n', ' ').replace('\r', ' ');
    }

    private Failures() {}
}
