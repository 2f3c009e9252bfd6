package io.github.kafkasql.formats;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Encodes a row as a payload. */
public abstract class PayloadEncoder implements Serializable {
    protected final StructType type;

    protected PayloadEncoder(StructType type) {
        this.type = type;
    }

    public StructType type() {
        return type;
    }

    /** Returns the payload; null for a record without one. Throws Failures.encode if a value cannot be represented. */
    public abstract byte[] encodeRow(InternalRow row);
}
