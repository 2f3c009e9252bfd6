package kafka_sql;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Encodes a row as a payload. */
public abstract class PayloadEncoder implements Serializable {
    final StructType type;

    PayloadEncoder(StructType type) {
        this.type = type;
    }

    /** Returns the payload; null for a record without one. */
    abstract byte[] encodeRow(InternalRow row);

    /** Encodes a row, whose columns that are not nullable are checked. */
    public byte[] encode(InternalRow row) {
        StructField[] fields = type.fields();
        for (int i = 0; i < fields.length; i++) {
            if (!fields[i].nullable() && row.isNullAt(i)) {
                throw Failures.encode("column '" + fields[i].name() + "' is declared NOT NULL, but a row has NULL.");
            }
        }
        return encodeRow(row);
    }
}
