package kafka_sql;

import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.slf4j.LoggerFactory;

/** Decodes the payload of a record to rows. */
public abstract class PayloadDecoder implements Serializable {
    private final ErrorHandling errors;

    PayloadDecoder(ErrorHandling errors) {
        this.errors = errors;
    }

    /** Adds the rows of a payload, which is null if the record has none. Throws Mismatch if it is not decodable. */
    abstract void decodeRows(byte[] payload, List rows);

    /** Returns the rows of a record's payload. */
    public ArrayData decode(byte[] payload, UTF8String topic, int partition, long offset) {
        List rows = new ArrayList(1);
        try {
            decodeRows(payload, rows);
        } catch (Mismatch e) {
            rows.clear();
            if (!errors.mode.equals("ignore")) {
                String field = e.path.isEmpty() ? "" : ", field '" + e.path + "'";
                String where = topic + "[" + partition + "]@" + offset + errors.part;
                String message = where + field + ": " + e.reason;
                if (errors.mode.equals("fail")) throw Failures.decode(message + errors.advice);
                LoggerFactory.getLogger("kafka_sql.source").warn(
                    "table '" + errors.table + "': skipped a record: [DECODE] " + Failures.oneLine(message));
            }
        }
        return new GenericArrayData(rows.toArray());
    }

    static String excerpt(byte[] payload) {
        return shorten(new String(payload, 0, Math.min(100, payload.length), StandardCharsets.UTF_8));
    }

    static String shorten(String text) {
        return text.length() <= 60 ? text : text.substring(0, 57) + "...";
    }
}
