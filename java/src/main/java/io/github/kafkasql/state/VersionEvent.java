package io.github.kafkasql.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A row of the input of {@link TemporalJoiner}: a row of the left table, or a change of the versioned table. */
final class VersionEvent implements Comparable {
    private static final int ROW = -1;

    final int kind; // the row kind of a change
    final boolean hasTime;
    final long time; // microseconds
    final byte[] row;
    private final long order;

    private VersionEvent(UnsafeRow event) {
        kind = event.isNullAt(0) ? ROW : Change.readKind(event.getUTF8String(0));
        hasTime = !event.isNullAt(1);
        time = hasTime ? event.getLong(1) : 0;
        order = event.getLong(2);
        row = event.getBinary(3);
    }

    /** The type of a packed event; a row of the left table has no kind. */
    static StructType type(DataType time, StructType row) {
        return new StructType()
            .add("kind", DataTypes.StringType).add("time", time).add("order", DataTypes.LongType).add("row", row);
    }

    static VersionEvent read(byte[] packed) {
        return new VersionEvent(RowPacker.toRow(packed, 4));
    }

    boolean isVersion() {
        return kind != ROW;
    }

    public int compareTo(Object other) {
        VersionEvent that = (VersionEvent) other;
        return order != that.order ? (order < that.order ? -1 : 1) : kind - that.kind;
    }
}
