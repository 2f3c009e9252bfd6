package io.github.kafkasql.realtime;

import java.util.List;
import org.apache.spark.sql.types.StructType;

/** Decodes one line of CSV per payload. */
public final class CsvDecoder extends PayloadDecoder {
    private final CsvField[] fields;
    private final CsvRules rules;

    public CsvDecoder(StructType type, CsvRules rules, ErrorHandling errors) {
        super(errors);
        this.fields = CsvField.fields(type, rules);
        this.rules = rules;
    }

    void decodeRows(byte[] payload, List rows) {
        if (payload == null) return;
        boolean ignoresErrors = rules.has(CsvRules.IGNORE_ERRORS);
        try {
            List values;
            try {
                values = new CsvLine(payload, rules).read(fields.length);
                if (values.size() < fields.length && !ignoresErrors) {
                    throw CsvLine.invalid(CsvField.lengthMismatch(fields.length, values.size()));
                }
            } catch (Mismatch e) {
                throw CsvLine.invalid("Failed to deserialize CSV row: the payload " + e.reason + ": " + excerpt(payload));
            }
            rows.add(CsvField.convertRow(values, fields));
        } catch (Mismatch e) {
            if (!ignoresErrors) throw e;
        }
    }
}
