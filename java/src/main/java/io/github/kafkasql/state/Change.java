package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Tuple2;
import scala.collection.Iterator;

/** A change of a row: its kind, its place among the changes of a key, and the row as bytes of {@link RowPacker}. */
record Change(RowKind kind, long order, byte[] row) implements Comparable<Change> {
    private static final Comparator<Change> PLACE =
        Comparator.comparingLong(Change::order).thenComparing(Change::kind);

    /** The type of a packed change of rows of a type. */
    static StructType type(StructType row) {
        return new StructType()
            .add("kind", DataTypes.StringType).add("order", DataTypes.LongType).add("row", row);
    }

    static Change read(byte[] packed) {
        UnsafeRow change = RowPacker.toRow(packed, 3);
        return new Change(RowKind.of(change.getUTF8String(0)), change.getLong(1), change.getBinary(2));
    }

    byte[] pack() {
        var writer = new UnsafeRowWriter(3, row.length + 8);
        writer.resetRowWriter();
        writer.write(0, kind.text);
        writer.write(1, order);
        writer.write(2, row);
        return writer.getRow().getBytes();
    }

    /** Read the changes of one key, in their order. */
    static List<Change> readAll(Iterator<Tuple2<byte[], byte[]>> rows) {
        List<Change> changes = new ArrayList<>(1);
        while (rows.hasNext()) changes.add(read(rows.next()._1()));
        if (changes.size() > 1) Collections.sort(changes);
        return changes;
    }

    boolean isRetraction() {
        return kind.isRetraction();
    }

    /** By place; the changes of one record are -U before +U. */
    @Override
    public int compareTo(Change other) {
        return PLACE.compare(this, other);
    }
}
