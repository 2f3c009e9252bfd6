package kafka_sql;

/** Errors of tasks that the driver converts to the errors of kafka_sql.errors, by their text. */
public final class Failures {
    static RuntimeException decode(String message) {
        return new RuntimeException("kafka_sql.errors.DecodeError: [DECODE_ERROR] " + oneLine(message));
    }

    static RuntimeException encode(String message) {
        return new RuntimeException("kafka_sql.errors.EncodeError: [ENCODE_ERROR] " + oneLine(message));
    }

    private static String oneLine(String text) {
        return text.replace('\n', ' ').replace('\r', ' ');
    }

    private Failures() {}
}
