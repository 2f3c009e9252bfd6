package io.github.kafkasql.realtime;

import java.util.Arrays;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;

/** Collects the values of one row by slot. A slot inside an ARRAY or MAP has a value per element. */
final class RowBuilder {
    private final RowLayout layout;
    private final Object[][] values;
    private final int[] counts;
    private final int[] listEnds;

    RowBuilder(RowLayout layout) {
        this.layout = layout;
        this.values = new Object[layout.types.length][];
        this.counts = new int[values.length];
        this.listEnds = new int[values.length];
    }

    /** Appends a value; of a ROW, anything but null, because its fields have their own slots. */
    void append(int slot, Object value) {
        Object[] entries = values[slot];
        int count = counts[slot]++;
        if (entries == null) {
            entries = values[slot] = new Object[layout.isNested[slot] ? 8 : 1];
        } else if (count == entries.length) {
            entries = values[slot] = Arrays.copyOf(entries, 2 * count);
        }
        entries[count] = value;
    }

    /** Appends an ARRAY or MAP of the elements that were appended since the last one. */
    void appendList(int slot) {
        int begin = listEnds[slot];
        listEnds[slot] = counts[layout.children[slot][0]];
        append(slot, new int[] {begin, listEnds[slot]});
    }

    GenericInternalRow build() {
        return row(layout.columns, 0);
    }

    private GenericInternalRow row(int[] slots, int entry) {
        Object[] row = new Object[slots.length];
        for (int i = 0; i < row.length; i++) row[i] = value(slots[i], entry);
        return new GenericInternalRow(row);
    }

    private Object value(int slot, int entry) {
        Object value = values[slot][entry];
        DataType type = layout.types[slot];
        if (value == null) return null;
        if (type instanceof StructType) return row(layout.children[slot], entry);
        if (!(type instanceof ArrayType) && !(type instanceof MapType)) return value;
        int begin = ((int[]) value)[0];
        int end = ((int[]) value)[1];
        if (type instanceof MapType) return map(layout.children[slot], begin, end);
        return new GenericArrayData(values(layout.children[slot][0], begin, end));
    }

    private Object[] values(int slot, int begin, int end) {
        Object[] elements = new Object[end - begin];
        for (int i = begin; i < end; i++) elements[i - begin] = value(slot, i);
        return elements;
    }

    /** Returns a map; of repeated keys, it has the last value at the position of the first. */
    private ArrayBasedMapData map(int[] slots, int begin, int end) {
        Map entries = new LinkedHashMap();
        for (int i = begin; i < end; i++) entries.put(value(slots[0], i), value(slots[1], i));
        return toMapData(entries);
    }

    static ArrayBasedMapData toMapData(Map entries) {
        Object[] keys = new Object[entries.size()];
        Object[] items = new Object[entries.size()];
        int i = 0;
        for (Iterator it = entries.entrySet().iterator(); it.hasNext(); i++) {
            Map.Entry entry = (Map.Entry) it.next();
            keys[i] = entry.getKey();
            items[i] = entry.getValue();
        }
        return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(items));
    }
}
