package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.*;

/**
 * Numbers the columns of a table and the types inside them as slots, in the order of
 * kafka_sql/formats/columnar/column_buffers.py.
 */
final class RowLayout implements Serializable {
    final DataType[] types;
    final boolean[] isNested; // inside an ARRAY or MAP
    final int[][] children; // slots of a ROW's fields, of an ARRAY's element, or of a MAP's key and value
    final int[] columns;

    RowLayout(StructType type) {
        List types = new ArrayList();
        List nested = new ArrayList();
        List children = new ArrayList();
        this.columns = addFields(type, false, types, nested, children);
        this.types = (DataType[]) types.toArray(new DataType[0]);
        this.children = (int[][]) children.toArray(new int[0][]);
        this.isNested = new boolean[types.size()];
        for (int i = 0; i < isNested.length; i++) isNested[i] = ((Boolean) nested.get(i)).booleanValue();
    }

    private static int[] addFields(StructType type, boolean isNested, List types, List nested, List children) {
        StructField[] fields = type.fields();
        int[] slots = new int[fields.length];
        for (int i = 0; i < slots.length; i++) slots[i] = add(fields[i].dataType(), isNested, types, nested, children);
        return slots;
    }

    private static int add(DataType type, boolean isNested, List types, List nested, List children) {
        int slot = types.size();
        types.add(type);
        nested.add(Boolean.valueOf(isNested));
        children.add(null);
        int[] slots = new int[0];
        if (type instanceof StructType) {
            slots = addFields((StructType) type, isNested, types, nested, children);
        } else if (type instanceof ArrayType) {
            slots = new int[] {add(((ArrayType) type).elementType(), true, types, nested, children)};
        } else if (type instanceof MapType) {
            int key = add(((MapType) type).keyType(), true, types, nested, children);
            slots = new int[] {key, add(((MapType) type).valueType(), true, types, nested, children)};
        }
        children.set(slot, slots);
        return slot;
    }
}
