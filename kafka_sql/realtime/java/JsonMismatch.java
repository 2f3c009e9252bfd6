package kafka_sql;

/** A value that does not match its column's type. isMissing: there is no value, which is always an error. */
public final class JsonMismatch extends RuntimeException {
    final String reason;
    final String path;
    final boolean isMissing;

    JsonMismatch(String reason, String path, boolean isMissing) {
        super(reason, null, false, false); // without a stack trace
        this.reason = reason;
        this.path = path;
        this.isMissing = isMissing;
    }

    JsonMismatch withPrefix(String prefix) {
        String dot = !path.isEmpty() && !path.startsWith("[") ? "." : "";
        return new JsonMismatch(reason, prefix + dot + path, isMissing);
    }
}
