package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Flink's SinkUpsertMaterializer: keeps all rows of each key of a sink. The newest one is the sink's row. If it is
 * deleted, the one before it returns.
 */
public final class Materializer extends StatefulProcessor {
    private final RowPacker packer =
        new RowPacker(new StructType().add("rows", DataTypes.createArrayType(DataTypes.BinaryType)));
    private ValueState state;

    public void init(OutputMode mode, TimeMode time) {
        state = getHandle().getValueState("rows", Encoders.BINARY(), TTLConfig.NONE());
    }

    public Iterator handleInputRows(Object key, Iterator input, TimerValues timers) {
        List rows = read((byte[]) state.get()), changes = Change.readAll(input), output = new ArrayList(1);
        boolean existed = !rows.isEmpty();
        byte[] before = newest(rows);
        for (int i = 0; i < changes.size(); i++) {
            Change change = (Change) changes.get(i);
            if (change.isRetraction()) removeFirst(rows, change.row);
            else rows.add(change.row);
        }
        byte[] now = newest(rows);
        long order = ((Change) changes.get(changes.size() - 1)).order;
        if (now == null) {
            if (before != null) output.add(new Change(Change.DELETE, order, before).pack());
        } else if (before == null) {
            output.add(new Change(Change.INSERT, order, now).pack());
        } else if (!Arrays.equals(before, now)) {
            output.add(new Change(Change.UPDATE_AFTER, order, now).pack());
        }
        if (!rows.isEmpty()) state.update(pack(rows));
        else if (existed) state.clear();
        return CollectionConverters.asScala(output.iterator());
    }

    private static byte[] newest(List rows) {
        return rows.isEmpty() ? null : (byte[]) rows.get(rows.size() - 1);
    }

    private static void removeFirst(List rows, byte[] row) {
        for (int i = 0; i < rows.size(); i++) {
            if (Arrays.equals((byte[]) rows.get(i), row)) {
                rows.remove(i);
                return;
            }
        }
    }

    private static List read(byte[] packed) {
        List rows = new ArrayList(2);
        if (packed == null) return rows;
        UnsafeArrayData array = RowPacker.toRow(packed, 1).getArray(0);
        for (int i = 0; i < array.numElements(); i++) rows.add(array.getBinary(i));
        return rows;
    }

    private byte[] pack(List rows) {
        return packer.toBytes(new GenericInternalRow(new Object[] {new GenericArrayData(rows.toArray())}));
    }
}
