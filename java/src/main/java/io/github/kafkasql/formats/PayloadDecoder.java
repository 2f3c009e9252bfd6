package io.github.kafkasql.formats;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes the payload of a record to rows. */
public abstract class PayloadDecoder implements Serializable {
    private static final int HEX_EXCERPT_SIZE = 24; // bytes

    private final ErrorHandling errors;
    private transient SkippedRecords skipped; // a task has its own copy of the decoder

    protected PayloadDecoder(ErrorHandling errors) {
        this.errors = errors;
    }

    /** Adds the rows of a payload, which is null if the record has none. Throws Mismatch if it is not decodable. */
    protected abstract void decodeRows(byte[] payload, List<InternalRow> rows);

    /** Returns the rows of a record's payload. */
    public ArrayData decode(byte[] payload, UTF8String topic, int partition, long offset) {
        List<InternalRow> rows = new ArrayList<>(1);
        try {
            decodeRows(payload, rows);
        } catch (Mismatch e) {
            rows.clear();
            String field = e.path.isEmpty() ? null : e.path;
            String where = topic + "[" + partition + "]@" + offset + errors.part();
            String message = where + (field == null ? "" : ", field '" + field + "'") + ": " + e.reason;
            if (errors.mode().equals("fail")) {
                throw Failures.decode(message + errors.advice(), where, field, e.reason);
            }
            if (skipped == null) skipped = new SkippedRecords(errors, topic, partition, offset);
            skipped.add(message, offset);
        }
        return new GenericArrayData(rows.toArray());
    }

    public static String excerpt(byte[] payload) {
        return shorten(new String(payload, 0, Math.min(100, payload.length), StandardCharsets.UTF_8));
    }

    /** Returns the first bytes of a payload from a position on, as hexadecimal digits. */
    public static String hexExcerpt(byte[] payload, int start) {
        int end = Math.min(payload.length, start + HEX_EXCERPT_SIZE);
        String digits = HexFormat.ofDelimiter(" ").formatHex(payload, start, end);
        return end < payload.length ? digits + " ..." : digits;
    }

    public static String shorten(String text) {
        return text.length() <= 60 ? text : text.substring(0, 57) + "...";
    }
}
