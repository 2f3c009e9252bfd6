package io.github.kafkasql.formats;

/** A payload or a value in it that does not match. isMissing: there is no value, which is always an error. */
public final class Mismatch extends RuntimeException {
    private final String reason;
    private final String path;
    private final boolean isMissing;

    public Mismatch(String reason, String path, boolean isMissing) {
        super(reason, null, false, false); // without a stack trace
        this.reason = reason;
        this.path = path;
        this.isMissing = isMissing;
    }

    public Mismatch(String reason) {
        this(reason, "", false);
    }

    public String reason() {
        return reason;
    }

    public String path() {
        return path;
    }

    public boolean isMissing() {
        return isMissing;
    }

    public Mismatch withPrefix(String prefix) {
        String dot = !path.isEmpty() && !path.startsWith("[") ? "." : "";
        return new Mismatch(reason, prefix + dot + path, isMissing);
    }
}
