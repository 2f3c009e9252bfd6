package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Flink's SinkUpsertMaterializer: keeps all rows of each key of a sink. The newest one is the sink's row. If it is
 * deleted, the one before it returns. With another {@link ConflictStrategy}, it keeps one row of each key.
 */
final class Materializer extends Operator {
    private static final long serialVersionUID = 1;

    private final RowPacker packer =
        new RowPacker(new StructType().add("rows", DataTypes.createArrayType(DataTypes.BinaryType)));
    private final ConflictStrategy strategy;
    private final StructType keyType;
    private transient ValueState<byte[]> state;

    /** @param keyType the columns of the sink's key */
    Materializer(ConflictStrategy strategy, StructType keyType) {
        this.strategy = strategy;
        this.keyType = keyType;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        state = valueState("rows");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        List<byte[]> rows = read(state.get());
        List<byte[]> output = new ArrayList<>(1);
        List<Change> changes = Change.readAll(input);
        boolean existed = !rows.isEmpty();
        byte[] before = newest(rows);
        for (int i = 0; i < changes.size(); i++) {
            Change change = changes.get(i);
            if (change.isRetraction()) removeFirst(rows, change.row());
            else rows.add(change.row());
            // the changes of one place are applied together: a row may leave a key when another one takes it
            boolean isLast = i + 1 == changes.size() || changes.get(i + 1).order() != change.order();
            if (isLast && strategy == ConflictStrategy.NOTHING && rows.size() > 1) rows.subList(1, rows.size()).clear();
        }
        if (strategy == ConflictStrategy.ERROR && rows.size() > 1) throw conflict(key);
        byte[] now = newest(rows);
        long order = changes.get(changes.size() - 1).order();
        if (now == null) {
            if (before != null) output.add(new Change(RowKind.DELETE, order, before).pack());
        } else if (before == null) {
            output.add(new Change(RowKind.INSERT, order, now).pack());
        } else if (!Arrays.equals(before, now)) {
            output.add(new Change(RowKind.UPDATE_AFTER, order, now).pack());
        }
        if (!rows.isEmpty()) state.update(pack(rows));
        else if (existed) state.clear();
        return results(output);
    }

    private RuntimeException conflict(byte[] key) {
        Object values = CollectionConverters.asJava(RowPacker.toRow(key, keyType.length()).toSeq(keyType));
        return new IllegalStateException(
            "Primary key constraint violation: several rows of the query have the key " + values + " of "
                + Arrays.toString(keyType.fieldNames()) + ". Use ON CONFLICT DO NOTHING to keep the first row, or ON "
                + "CONFLICT DO DEDUPLICATE to keep the newest one.");
    }

    private static byte[] newest(List<byte[]> rows) {
        return rows.isEmpty() ? null : rows.get(rows.size() - 1);
    }

    private static void removeFirst(List<byte[]> rows, byte[] row) {
        for (int i = 0; i < rows.size(); i++) {
            if (Arrays.equals(rows.get(i), row)) {
                rows.remove(i);
                return;
            }
        }
    }

    private static List<byte[]> read(byte[] packed) {
        List<byte[]> rows = new ArrayList<>(2);
        if (packed == null) return rows;
        UnsafeArrayData array = RowPacker.toRow(packed, 1).getArray(0);
        for (int i = 0; i < array.numElements(); i++) rows.add(array.getBinary(i));
        return rows;
    }

    private byte[] pack(List<byte[]> rows) {
        return packer.toBytes(new GenericInternalRow(new Object[] {new GenericArrayData(rows.toArray())}));
    }
}
