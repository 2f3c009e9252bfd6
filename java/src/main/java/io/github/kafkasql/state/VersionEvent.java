package io.github.kafkasql.state;

import java.util.Comparator;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * A row of the input of {@link TemporalJoiner}: a row of the left table, or a change of the versioned table.
 *
 * @param kind null for a row of the left table
 * @param time in microseconds
 */
record VersionEvent(RowKind kind, boolean hasTime, long time, long order, byte[] row)
    implements Comparable<VersionEvent> {
    private static final Comparator<VersionEvent> PLACE =
        Comparator.comparingLong(VersionEvent::order).thenComparing(VersionEvent::kind);

    /** The type of a packed event. */
    static StructType type(DataType time, StructType row) {
        return new StructType()
            .add("kind", DataTypes.StringType).add("time", time).add("order", DataTypes.LongType).add("row", row);
    }

    static VersionEvent read(byte[] packed) {
        UnsafeRow event = RowPacker.toRow(packed, 4);
        RowKind kind = event.isNullAt(0) ? null : RowKind.of(event.getUTF8String(0));
        boolean hasTime = !event.isNullAt(1);
        return new VersionEvent(kind, hasTime, hasTime ? event.getLong(1) : 0, event.getLong(2), event.getBinary(3));
    }

    boolean isVersion() {
        return kind != null;
    }

    /** The order of versions. */
    @Override
    public int compareTo(VersionEvent other) {
        return PLACE.compare(this, other);
    }
}
