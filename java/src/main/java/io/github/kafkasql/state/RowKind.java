package io.github.kafkasql.state;

import org.apache.spark.unsafe.types.UTF8String;

/** The kind of a change. A -U precedes the +U of the same record. */
enum RowKind {
    INSERT("+I"),
    UPDATE_BEFORE("-U"),
    UPDATE_AFTER("+U"),
    DELETE("-D");

    private static final RowKind[] KINDS = values();

    final UTF8String text;

    RowKind(String text) {
        this.text = UTF8String.fromString(text);
    }

    static RowKind of(UTF8String text) {
        for (RowKind kind : KINDS) if (kind.text.equals(text)) return kind;
        throw new IllegalArgumentException("Invalid row kind '" + text + "'. Expected +I, -U, +U or -D.");
    }

    boolean isRetraction() {
        return this == UPDATE_BEFORE || this == DELETE;
    }
}
