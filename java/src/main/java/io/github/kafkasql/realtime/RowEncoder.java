package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadEncoder;
import io.github.kafkasql.formats.Failures;
import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;

/** Encodes the rows of a table as keys or values. Errors name the table. */
public final class RowEncoder implements Serializable {
    private final PayloadEncoder encoder;
    private final String table;
    private final String[] columns;

    /** columns: the table's columns, which may have other names in the payload. */
    public RowEncoder(PayloadEncoder encoder, String table, String[] columns) {
        this.encoder = encoder;
        this.table = table;
        this.columns = columns;
    }

    /** Encodes a row, whose columns that are not nullable are checked. */
    public byte[] encode(InternalRow row) {
        try {
            StructField[] fields = encoder.type().fields();
            for (int i = 0; i < fields.length; i++) {
                if (!fields[i].nullable() && row.isNullAt(i)) {
                    throw Failures.encode(
                        columns[i], "column '" + columns[i] + "' is declared NOT NULL, but a row has NULL.");
                }
            }
            return encoder.encodeRow(row);
        } catch (Failures.Unencodable e) {
            throw Failures.encode(e.field, "Table '" + table + "': " + e.reason);
        }
    }
}
