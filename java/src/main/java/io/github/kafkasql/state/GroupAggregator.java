package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
 * or DISTINCT needs, the state also has the number of rows per value; for each column of a FIRST_VALUE, LAST_VALUE,
 * ARRAY_AGG or LISTAGG, the values in their order.
 */
class GroupAggregator extends Operator {
    private static final long serialVersionUID = 1;

    private final StructType arguments;
    private final AggregateCall[] calls;
    private final RowPacker statePacker;
    private final RowPacker resultPacker;
    private transient ValueState<byte[]> state;
    private transient long rows; // of the group that was loaded
    private transient Map<Integer, MapState<byte[], Long>> counts; // by the argument; only of those that are needed
    private transient Map<Order, OrderedValues> orders; // likewise
    private transient UnsafeProjection[] projections; // of a row to one of its columns

    /** An argument whose values are needed in the order of their arrival. */
    private record Order(int argument, boolean isDistinct) {
        static Order of(AggregateCall call) {
            return new Order(call.argument, call.isDistinct);
        }
    }

    GroupAggregator(StructType arguments, AggregateCall[] calls, StructType results) {
        this.arguments = arguments;
        this.calls = calls;
        resultPacker = new RowPacker(results);
        StructType type = new StructType().add("rows", DataTypes.LongType);
        for (AggregateCall call : calls) for (DataType part : call.stateTypes()) type = type.add("c" + type.length(), part);
        for (int i = 0; i < OrderedValues.COLUMNS * ordersOf(calls).size(); i++)
            type = type.add("c" + type.length(), DataTypes.LongType);
        statePacker = new RowPacker(type);
    }

    private static Set<Order> ordersOf(AggregateCall[] calls) {
        Set<Order> orders = new LinkedHashSet<>();
        for (AggregateCall call : calls) if (call.needsOrder()) orders.add(Order.of(call));
        return orders;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        state = valueState("group");
        counts = new HashMap<>();
        orders = new LinkedHashMap<>();
        projections = new UnsafeProjection[arguments.length()];
        for (int i = 0; i < projections.length; i++)
            projections[i] = UnsafeProjection.create(Seqs.of(new BoundReference(i, arguments.apply(i).dataType(), true)));
        for (AggregateCall call : calls) if (call.needsCounts()) counts.computeIfAbsent(call.argument, this::countValues);
        for (Order order : ordersOf(calls)) {
            String name = order.argument() + (order.isDistinct() ? "distinct" : "");
            orders.put(
                order, new OrderedValues(mapState("ordered" + name), mapState("places" + name), order.isDistinct()));
        }
    }

    private MapState<byte[], Long> countValues(int argument) {
        return getHandle().getMapState("values" + argument, Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE());
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        boolean exists = load();
        byte[] oldResult = exists ? packResult(key) : null;
        byte[] newResult = addAll(input) ? packResult(key) : null;
        return results(changes(oldResult, newResult));
    }

    /** Read the state of the group, and return whether it has one. */
    final boolean load() {
        byte[] packed = state.get();
        InternalRow before = packed == null ? null : statePacker.toRow(packed);
        load(before);
        rows = before == null ? 0 : before.getLong(0);
        return packed != null;
    }

    /** Add changes to a group that was loaded, and return whether it has rows now. */
    final boolean addAll(Iterator<Tuple2<byte[], byte[]>> input) {
        boolean existed = rows > 0;
        rows = addRows(rows, input);
        if (rows > 0) state.update(packState(rows));
        else clear(existed);
        return rows > 0;
    }

    private void load(InternalRow before) {
        int column = 1;
        for (AggregateCall call : calls) {
            call.load(before, column);
            column += call.stateTypes().length;
        }
        for (OrderedValues values : orders.values()) {
            values.load(before, column);
            column += OrderedValues.COLUMNS;
        }
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
        if (orders.isEmpty()) { // in any order
            while (input.hasNext()) {
                UnsafeRow change = RowPacker.toRow(input.next()._1(), 3);
                rows += addRow(RowKind.of(change.getUTF8String(0)), change.getStruct(2, arguments.length()), differences);
            }
        } else {
            for (Change change : Change.readAll(input))
                rows += addRow(change.kind(), RowPacker.toRow(change.row(), arguments.length()), differences);
        }
        differences.forEach((argument, ofValues) -> ofValues.forEach((value, difference) -> {
            if (difference != 0) addCount(argument, value.array(), difference);
        }));
        for (AggregateCall call : calls) if (call.needsAllValues()) addAllValues(call);
        return rows;
    }

    /** Add a row, or retract it, and return by how much this changes the number of rows. */
    private int addRow(RowKind kind, UnsafeRow row, Map<Integer, Map<ByteBuffer, Long>> differences) {
        int sign = kind.isRetraction() ? -1 : 1;
        for (AggregateCall call : calls)
            if (!call.needsCounts() && !call.needsOrder()) call.add(row, call.argument, sign);
        differences.forEach((argument, ofValues) -> {
            if (!row.isNullAt(argument)) ofValues.merge(ByteBuffer.wrap(value(row, argument)), (long) sign, Long::sum);
        });
        orders.forEach((order, values) -> {
            if (!row.isNullAt(order.argument())) values.add(value(row, order.argument()), sign);
        });
        return sign;
    }

    /** A value as a row with one column. */
    private byte[] value(InternalRow row, int argument) {
        return projections[argument].apply(row).copy().getBytes();
    }

    private void addCount(int argument, byte[] value, long difference) {
        MapState<byte[], Long> known = counts.get(argument);
        Long count = known.getValue(value);
        long before = count == null ? 0 : count;
        long now = before + difference;
        if (now == 0) known.removeKey(value);
        else known.updateValue(value, now);
        if (before > 0 == now > 0) return;
        for (AggregateCall call : calls)
            if (call.argument == argument && call.needsCounts()) call.addValue(value, now > 0 ? 1 : -1);
    }

    private void addAllValues(AggregateCall call) {
        call.clearValues();
        Iterator<Tuple2<byte[], Long>> entries = counts.get(call.argument).iterator();
        while (entries.hasNext()) {
            Tuple2<byte[], Long> entry = entries.next();
            if (entry._2() > 0) call.addValue(entry._1(), 1);
        }
    }

    final void clear(boolean existed) {
        if (existed) state.clear();
        for (MapState<byte[], Long> ofValues : counts.values()) if (ofValues.exists()) ofValues.clear();
        for (OrderedValues values : orders.values()) values.clear();
    }

    private byte[] packState(long rows) {
        Object[] columns = new Object[statePacker.length()];
        columns[0] = rows;
        int column = 1;
        for (AggregateCall call : calls) {
            call.store(columns, column);
            column += call.stateTypes().length;
        }
        for (OrderedValues values : orders.values()) {
            values.store(columns, column);
            column += OrderedValues.COLUMNS;
        }
        return statePacker.toBytes(new GenericInternalRow(columns));
    }

    /** A row of the key and the results. */
    final byte[] packResult(byte[] key) {
        Object[] columns = new Object[calls.length];
        for (int i = 0; i < calls.length; i++) columns[i] = calls[i].result(orders.get(Order.of(calls[i])));
        byte[] results = resultPacker.toBytes(new GenericInternalRow(columns));
        var writer = new UnsafeRowWriter(2, key.length + results.length + 16);
        writer.resetRowWriter();
        writer.write(0, key);
        writer.write(1, results);
        return writer.getRow().getBytes();
    }
}
