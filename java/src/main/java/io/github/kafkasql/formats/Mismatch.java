package io.github.kafkasql.formats;

/** A payload or a value in it that does not match. isMissing: there is no value, which is always an error. */
public final class Mismatch extends RuntimeException {
    public final String reason;
    public final String path;
    public final boolean isMissing;

    public Mismatch(String reason, String path, boolean isMissing) {
        super(reason, null, false, false); // without a stack trace
        this.reason = reason;
        this.path = path;
        this.isMissing = isMissing;
    }

    public Mismatch(String reason) {
        this(reason, "", false);
    }

    public Mismatch withPrefix(String prefix) {
        String dot = !path.isEmpty() && !path.startsWith("[") ? "." : "";
        return new Mismatch(reason, prefix + dot + path, isMissing);
    }
}
