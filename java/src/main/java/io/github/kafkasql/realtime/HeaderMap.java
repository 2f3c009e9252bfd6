package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.util.HashSet;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts the headers of a record to a map. */
public final class HeaderMap implements Serializable {
    /** Returns a map. Of several headers with one name, the last one is kept, as in Flink. */
    public MapData convert(ArrayData headers) {
        int count = headers.numElements();
        boolean[] isLast = new boolean[count];
        Set<UTF8String> names = new HashSet<>(); // of strings that are comparable, so that equal hashes do not make it slow
        for (int i = count - 1; i >= 0; i--) isLast[i] = names.add(headers.getStruct(i, 2).getUTF8String(0));
        Object[] keys = new Object[names.size()];
        Object[] values = new Object[names.size()];
        int entry = 0;
        for (int i = 0; i < count; i++) {
            if (!isLast[i]) continue;
            InternalRow header = headers.getStruct(i, 2);
            keys[entry] = header.getUTF8String(0);
            values[entry++] = header.isNullAt(1) ? null : header.getBinary(1);
        }
        return new ArrayBasedMapData(new GenericArrayData(keys), new GenericArrayData(values));
    }
}
