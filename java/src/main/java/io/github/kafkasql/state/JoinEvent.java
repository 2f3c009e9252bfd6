package io.github.kafkasql.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A change of a row of one side of a {@link Joiner}.
 *
 * @param canMatch false if a column of the key is NULL, which is equal to nothing
 */
record JoinEvent(boolean isLeft, boolean canMatch, Change change) implements Comparable<JoinEvent> {
    /** The type of a packed event. */
    static StructType type(StructType row) {
        return new StructType()
            .add("kind", DataTypes.StringType).add("order", DataTypes.LongType).add("row", row)
            .add("isLeft", DataTypes.BooleanType).add("canMatch", DataTypes.BooleanType);
    }

    static JoinEvent read(byte[] packed) {
        UnsafeRow event = RowPacker.toRow(packed, 5);
        RowKind kind = RowKind.of(event.getUTF8String(0));
        Change change = new Change(kind, event.getLong(1), event.getBinary(2));
        return new JoinEvent(event.getBoolean(3), event.getBoolean(4), change);
    }

    /** The order of the changes of a side. */
    @Override
    public int compareTo(JoinEvent other) {
        return change.compareTo(other.change);
    }
}
