package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's GroupAggregate over changes: returns a group's old and new result once per micro-batch.
 *
 * <p>The state of a group is its number of rows and the accumulators of its functions. For each column that a MIN, MAX
 * or DISTINCT needs, the state also has the number of rows per value.
 */
final class GroupAggregator extends Operator {
    private static final long serialVersionUID = 1;

    private final StructType arguments;
    private final AggregateCall[] calls;
    private final RowPacker statePacker;
    private final RowPacker resultPacker;
    private transient ValueState<byte[]> state;
    private transient Map<Integer, ValueCounts> counts; // by the argument; only of those that are needed

    /** The number of rows of each value of an argument. */
    private record ValueCounts(MapState<byte[], Long> state, UnsafeProjection projection) {
        /** A value as a row with one column. */
        ByteBuffer value(InternalRow row) {
            return ByteBuffer.wrap(projection.apply(row).copy().getBytes());
        }
    }

    GroupAggregator(StructType arguments, AggregateCall[] calls, StructType results) {
        this.arguments = arguments;
        this.calls = calls;
        resultPacker = new RowPacker(results);
        StructType type = new StructType().add("rows", DataTypes.LongType);
        for (int i = 0; i < calls.length; i++) {
            DataType[] types = calls[i].stateTypes();
            type = type.add("accumulator" + i, types[0]).add("count" + i, types[1]);
        }
        statePacker = new RowPacker(type);
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        state = valueState("group");
        counts = new HashMap<>();
        for (AggregateCall call : calls) {
            if (call.needsValues()) counts.computeIfAbsent(call.argument, this::countValues);
        }
    }

    private ValueCounts countValues(int argument) {
        var column = new BoundReference(argument, arguments.apply(argument).dataType(), true);
        return new ValueCounts(
            getHandle().getMapState("values" + argument, Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE()),
            UnsafeProjection.create(Seqs.of(column)));
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        byte[] packed = state.get();
        InternalRow before = packed == null ? null : statePacker.toRow(packed);
        for (int i = 0; i < calls.length; i++) calls[i].load(before, 1 + 2 * i);
        byte[] oldResult = packed == null ? null : packResult(key);
        long rows = addRows(before == null ? 0 : before.getLong(0), input);
        byte[] newResult = null;
        if (rows > 0) {
            newResult = packResult(key);
            state.update(packState(rows));
        } else {
            clear(packed != null);
        }
        return results(changes(oldResult, newResult));
    }

    private static List<byte[]> changes(byte[] before, byte[] now) {
        List<byte[]> changes = new ArrayList<>(2);
        if (before != null && now != null) {
            if (Arrays.equals(before, now)) return changes;
            changes.add(new Change(RowKind.UPDATE_BEFORE, 0, before).pack());
            changes.add(new Change(RowKind.UPDATE_AFTER, 0, now).pack());
        } else if (now != null) {
            changes.add(new Change(RowKind.INSERT, 0, now).pack());
        } else if (before != null) {
            changes.add(new Change(RowKind.DELETE, 0, before).pack());
        }
        return changes;
    }

    /** Add rows, or retract them, and return the group's number of rows. */
    private long addRows(long before, Iterator<Tuple2<byte[], byte[]>> input) {
        long rows = before;
        Map<Integer, Map<ByteBuffer, Long>> differences = new HashMap<>(); // of the counts, by argument and value
        for (int argument : counts.keySet()) differences.put(argument, new HashMap<>());
        while (input.hasNext()) {
            UnsafeRow change = RowPacker.toRow(input.next()._1(), 3);
            int sign = RowKind.of(change.getUTF8String(0)).isRetraction() ? -1 : 1;
            UnsafeRow row = change.getStruct(2, arguments.length());
            rows += sign;
            for (AggregateCall call : calls) if (!call.needsValues()) call.add(row, call.argument, sign);
            differences.forEach((argument, ofValues) -> {
                if (!row.isNullAt(argument))
                    ofValues.merge(counts.get(argument).value(row), (long) sign, Long::sum);
            });
        }
        differences.forEach((argument, ofValues) -> ofValues.forEach((value, difference) -> {
            if (difference != 0) addCount(argument, value.array(), difference);
        }));
        for (AggregateCall call : calls) if (call.needsAllValues()) addAllValues(call);
        return rows;
    }

    private void addCount(int argument, byte[] value, long difference) {
        MapState<byte[], Long> known = counts.get(argument).state();
        Long count = known.getValue(value);
        long before = count == null ? 0 : count;
        long now = before + difference;
        if (now == 0) known.removeKey(value);
        else known.updateValue(value, now);
        if (before > 0 == now > 0) return;
        for (AggregateCall call : calls)
            if (call.argument == argument && call.needsValues()) call.addValue(value, now > 0 ? 1 : -1);
    }

    private void addAllValues(AggregateCall call) {
        call.clearValues();
        Iterator<Tuple2<byte[], Long>> entries = counts.get(call.argument).state().iterator();
        while (entries.hasNext()) {
            Tuple2<byte[], Long> entry = entries.next();
            if (entry._2() > 0) call.addValue(entry._1(), 1);
        }
    }

    private void clear(boolean existed) {
        if (existed) state.clear();
        for (ValueCounts ofValues : counts.values()) if (ofValues.state().exists()) ofValues.state().clear();
    }

    private byte[] packState(long rows) {
        Object[] columns = new Object[1 + 2 * calls.length];
        columns[0] = rows;
        for (int i = 0; i < calls.length; i++) calls[i].store(columns, 1 + 2 * i);
        return statePacker.toBytes(new GenericInternalRow(columns));
    }

    /** A row of the key and the results. */
    private byte[] packResult(byte[] key) {
        Object[] columns = Arrays.stream(calls).map(AggregateCall::result).toArray();
        byte[] results = resultPacker.toBytes(new GenericInternalRow(columns));
        var writer = new UnsafeRowWriter(2, key.length + results.length + 16);
        writer.resetRowWriter();
        writer.write(0, key);
        writer.write(1, results);
        return writer.getRow().getBytes();
    }
}
