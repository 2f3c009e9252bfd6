package io.github.kafkasql.realtime;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Encodes a row as a payload. */
public abstract class PayloadEncoder implements Serializable {
    final StructType type;

    PayloadEncoder(StructType type) {
        this.type = type;
    }

    /** Returns the payload; null for a record without one. Throws Failures.encode if a value cannot be represented. */
    abstract byte[] encodeRow(InternalRow row);
}
