package io.github.kafkasql.realtime;

import java.io.Serializable;

/** What to do with undecodable records. */
public final class ErrorHandling implements Serializable {
    final String table;
    final String part;
    final String advice;
    final String mode;

    /** part: empty, or " (key)". advice: how to tolerate such records. mode: 'error-handling.mode'. */
    public ErrorHandling(String table, String part, String advice, String mode) {
        this.table = table;
        this.part = part;
        this.advice = advice;
        this.mode = mode;
    }
}
