package io.github.kafkasql.state;

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
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Flink's GroupAggregate over changes: returns a group's old and new result once per micro-batch.
 *
 * <p>The state of a group is its number of rows and the accumulators of its functions. For each column that a MIN, MAX
 * or DISTINCT needs, the state also has the number of rows per value.
 */
public final class GroupAggregator extends StatefulProcessor {
    private final StructType arguments;
    private final AggregateCall[] calls;
    private final RowPacker statePacker, resultPacker;
    private transient ValueState state;
    private transient MapState[] counts; // of the values of each argument; null if not needed
    private transient UnsafeProjection[] values; // each argument as a row

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

    public void init(OutputMode mode, TimeMode time) {
        state = getHandle().getValueState("group", Encoders.BINARY(), TTLConfig.NONE());
        counts = new MapState[arguments.length()];
        values = new UnsafeProjection[arguments.length()];
        for (int i = 0; i < calls.length; i++) {
            int argument = calls[i].argument;
            if (!calls[i].needsValues() || counts[argument] != null) continue;
            counts[argument] =
                getHandle().getMapState("values" + argument, Encoders.BINARY(), Encoders.LONG(), TTLConfig.NONE());
            values[argument] = UnsafeProjection.create((Seq) Nil$.MODULE$.$colon$colon(
                new BoundReference(argument, arguments.apply(argument).dataType(), true)));
        }
    }

    public Iterator handleInputRows(Object key, Iterator input, TimerValues timers) {
        byte[] packed = (byte[]) state.get();
        InternalRow before = packed == null ? null : statePacker.toRow(packed);
        for (int i = 0; i < calls.length; i++) calls[i].load(before, 1 + 2 * i);
        byte[] oldResult = packed == null ? null : packResult((byte[]) key);
        long rows = addRows(before == null ? 0 : before.getLong(0), input);
        byte[] newResult = null;
        if (rows > 0) {
            newResult = packResult((byte[]) key);
            state.update(packState(rows));
        } else {
            clear(packed != null);
        }
        return CollectionConverters.asScala(changes(oldResult, newResult).iterator());
    }

    private static List changes(byte[] before, byte[] now) {
        List changes = new ArrayList(2);
        if (before != null && now != null) {
            if (Arrays.equals(before, now)) return changes;
            changes.add(new Change(Change.UPDATE_BEFORE, 0, before).pack());
            changes.add(new Change(Change.UPDATE_AFTER, 0, now).pack());
        } else if (now != null) {
            changes.add(new Change(Change.INSERT, 0, now).pack());
        } else if (before != null) {
            changes.add(new Change(Change.DELETE, 0, before).pack());
        }
        return changes;
    }

    /** Add rows, or retract them, and return the group's number of rows. */
    private long addRows(long rows, Iterator input) {
        Map[] differences = new Map[counts.length];
        for (int i = 0; i < counts.length; i++) if (counts[i] != null) differences[i] = new HashMap();
        while (input.hasNext()) {
            UnsafeRow change = RowPacker.toRow((byte[]) ((Tuple2) input.next())._1(), 3);
            int sign = Change.isRetraction(Change.readKind(change.getUTF8String(0))) ? -1 : 1;
            UnsafeRow row = change.getStruct(2, arguments.length());
            rows += sign;
            for (int i = 0; i < calls.length; i++)
                if (!calls[i].needsValues()) calls[i].add(row, calls[i].argument, sign);
            for (int i = 0; i < differences.length; i++)
                if (differences[i] != null && !row.isNullAt(i))
                    addDifference(differences[i], ByteBuffer.wrap(values[i].apply(row).copy().getBytes()), sign);
        }
        for (int i = 0; i < differences.length; i++) if (differences[i] != null) applyDifferences(i, differences[i]);
        for (int i = 0; i < calls.length; i++) if (calls[i].needsAllValues()) addAllValues(calls[i]);
        return rows;
    }

    private static void addDifference(Map differences, ByteBuffer value, int sign) {
        long[] difference = (long[]) differences.get(value);
        if (difference == null) differences.put(value, new long[] {sign});
        else difference[0] += sign;
    }

    private void applyDifferences(int argument, Map differences) {
        java.util.Iterator entries = differences.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            long difference = ((long[]) entry.getValue())[0];
            if (difference == 0) continue;
            byte[] value = ((ByteBuffer) entry.getKey()).array();
            Long known = (Long) counts[argument].getValue(value);
            long before = known == null ? 0 : known.longValue(), now = before + difference;
            if (now == 0) counts[argument].removeKey(value);
            else counts[argument].updateValue(value, Long.valueOf(now));
            if (before > 0 == now > 0) continue;
            for (int i = 0; i < calls.length; i++)
                if (calls[i].argument == argument && calls[i].needsValues()) calls[i].addValue(value, now > 0 ? 1 : -1);
        }
    }

    private void addAllValues(AggregateCall call) {
        call.clearValues();
        Iterator entries = counts[call.argument].iterator();
        while (entries.hasNext()) {
            Tuple2 entry = (Tuple2) entries.next();
            if (((Long) entry._2()).longValue() > 0) call.addValue((byte[]) entry._1(), 1);
        }
    }

    private void clear(boolean existed) {
        if (existed) state.clear();
        for (int i = 0; i < counts.length; i++) if (counts[i] != null && counts[i].exists()) counts[i].clear();
    }

    private byte[] packState(long rows) {
        Object[] columns = new Object[1 + 2 * calls.length];
        columns[0] = Long.valueOf(rows);
        for (int i = 0; i < calls.length; i++) calls[i].store(columns, 1 + 2 * i);
        return statePacker.toBytes(new GenericInternalRow(columns));
    }

    /** A row of the key and the results. */
    private byte[] packResult(byte[] key) {
        Object[] columns = new Object[calls.length];
        for (int i = 0; i < calls.length; i++) columns[i] = calls[i].result();
        byte[] results = resultPacker.toBytes(new GenericInternalRow(columns));
        UnsafeRowWriter writer = new UnsafeRowWriter(2, key.length + results.length + 16);
        writer.resetRowWriter();
        writer.write(0, key);
        writer.write(1, results);
        return writer.getRow().getBytes();
    }
}
