package kafka_sql;

import java.io.IOException;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.slf4j.LoggerFactory;

/** Decodes a JSON payload to rows: an object is one row, an array of objects is as many rows. */
public final class JsonDecoder implements Serializable {
    private final JsonField[] fields;
    private final JsonRules rules;
    private final String part;
    private final String advice;
    private final String errorMode;

    /**
     * part: empty, or " (key)". advice: how to tolerate undecodable records. errorMode: 'error-handling.mode'.
     */
    public JsonDecoder(StructType type, JsonRules rules, String part, String advice, String errorMode) {
        this.fields = JsonField.fields(type, rules);
        this.rules = rules;
        this.part = part;
        this.advice = advice;
        this.errorMode = errorMode;
    }

    public ArrayData decode(byte[] payload, UTF8String topic, int partition, long offset) {
        List rows = new ArrayList(1);
        if (payload.length > 0) {
            try {
                decode(payload, rows, topic + "[" + partition + "]@" + offset + part);
            } catch (RuntimeException e) {
                if (errorMode.equals("fail")) throw e;
                rows.clear();
                if (errorMode.equals("log")) LoggerFactory.getLogger("kafka_sql.source").warn(e.getMessage());
            }
        }
        return new GenericArrayData(rows.toArray());
    }

    private void decode(byte[] payload, List rows, String where) {
        Object document;
        try {
            document = JsonDocument.parse(payload);
        } catch (IOException e) {
            if (rules.ignoreErrors) return;
            String reason = String.valueOf(e.getMessage());
            if (!reason.startsWith("is ")) reason = "is not valid JSON: " + reason.split("\n")[0];
            throw Failures.decode(where + ": the payload " + reason + ": " + excerpt(payload) + advice);
        }
        List elements = document instanceof List ? (List) document : Collections.singletonList(document);
        for (int i = 0; i < elements.size(); i++) {
            Object element = elements.get(i);
            if (element == null && document != null) continue; // a null in an array is no row in Flink
            try {
                rows.add(JsonField.convertRow(element, fields, rules));
            } catch (JsonMismatch e) {
                if (rules.ignoreErrors) continue;
                String field = e.path.isEmpty() ? "" : ", field '" + e.path + "'";
                String suffix = e.isMissing ? "; the payload is: " + excerpt(payload) : "";
                throw Failures.decode(where + field + ": " + e.reason + suffix + advice);
            }
        }
    }

    private static String excerpt(byte[] payload) {
        return JsonField.shorten(new String(payload, 0, Math.min(100, payload.length), StandardCharsets.UTF_8));
    }
}
