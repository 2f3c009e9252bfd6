package io.github.kafkasql.formats;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** Errors of tasks, from whose text the driver creates those of kafka_sql.errors: see runtime/error_trailer.py. */
public final class Failures {
    /** A row that cannot be encoded. */
    public static final class Unencodable extends RuntimeException {
        public final String field; // null for the row as a whole
        public final String reason;

        Unencodable(String field, String reason) {
            super(format("EncodeError: [ENCODE] ", reason, attributes(field)));
            this.field = field;
            this.reason = reason;
        }
    }

    /** where: topic[partition]@offset. field: null for the payload as a whole. */
    public static RuntimeException decode(String message, String where, String field, String reason) {
        ObjectNode attributes = attributes(field).put("where", where).put("reason", reason);
        return new RuntimeException(format("DecodeError: [DECODE] ", message, attributes));
    }

    /** field: null for the row as a whole. */
    public static RuntimeException encode(String field, String reason) {
        return new Unencodable(field, reason);
    }

    private static ObjectNode attributes(String field) {
        return JsonNodeFactory.instance.objectNode().put("field", field);
    }

    private static String format(String error, String message, ObjectNode attributes) {
        return "kafka_sql.errors." + error + oneLine(message) + "\n[attributes " + attributes + "]";
    }

    static String oneLine(String text) {
        return text.replace('\n', ' ').replace('\r', ' ');
    }

    private Failures() {}
}
