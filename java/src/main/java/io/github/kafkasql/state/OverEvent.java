package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * A row that will not change, for an OVER window or a sort.
 *
 * @param time in microseconds
 * @param arrival its place in the order of arrival
 */
record OverEvent(boolean hasTime, long time, long arrival, byte[] row) {
    /** The type of a packed event. */
    static StructType type(DataType time, StructType row) {
        return new StructType().add("time", time).add("arrival", DataTypes.LongType).add("row", row);
    }

    /** Read the rows of one key, in the order of arrival. */
    static List<OverEvent> readAll(Iterator<Tuple2<byte[], byte[]>> rows) {
        List<OverEvent> events = new ArrayList<>(1);
        while (rows.hasNext()) {
            UnsafeRow event = RowPacker.toRow(rows.next()._1(), 3);
            boolean hasTime = !event.isNullAt(0);
            events.add(new OverEvent(hasTime, hasTime ? event.getLong(0) : 0, event.getLong(1), event.getBinary(2)));
        }
        if (events.size() > 1) events.sort(Comparator.comparingLong(OverEvent::arrival));
        return events;
    }
}
