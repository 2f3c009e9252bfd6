package io.github.kafkasql.realtime;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Decodes a JSON payload: an object is one row, an array of objects becomes one row per object. */
public final class JsonDecoder extends PayloadDecoder {
    private final JsonField[] fields;
    private final JsonRules rules;

    public JsonDecoder(StructType type, JsonRules rules, ErrorHandling errors) {
        super(errors);
        this.fields = JsonField.fields(type, rules);
        this.rules = rules;
    }

    void decodeRows(byte[] payload, List rows) {
        if (payload == null || payload.length == 0) return;
        Object document;
        try {
            document = JsonDocument.parse(payload);
        } catch (IOException e) {
            if (rules.ignoreErrors) return;
            String reason = String.valueOf(e.getMessage());
            if (!reason.startsWith("is ")) reason = "is not valid JSON: " + reason.split("\n")[0];
            throw new Mismatch("the payload " + reason + ": " + excerpt(payload), "", false);
        }
        List elements = document instanceof List ? (List) document : Collections.singletonList(document);
        for (int i = 0; i < elements.size(); i++) {
            Object element = elements.get(i);
            if (element == null && document != null) continue; // a null in an array is not a row in Flink
            try {
                rows.add(JsonField.convertRow(element, fields, rules));
            } catch (Mismatch e) {
                if (rules.ignoreErrors) continue;
                if (!e.isMissing) throw e;
                throw new Mismatch(e.reason + "; the payload is: " + excerpt(payload), e.path, true);
            }
        }
    }
}
