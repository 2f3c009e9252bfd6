package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;
import scala.collection.Iterator;

/** A change of a row: its kind, its place among the changes of a key, and the row as bytes of {@link RowPacker}. */
final class Change implements Comparable {
    static final int INSERT = 0, UPDATE_BEFORE = 1, UPDATE_AFTER = 2, DELETE = 3;

    private static final UTF8String[] KINDS = {
        UTF8String.fromString("+I"), UTF8String.fromString("-U"),
        UTF8String.fromString("+U"), UTF8String.fromString("-D")};

    final int kind;
    final long order;
    final byte[] row;

    Change(int kind, long order, byte[] row) {
        this.kind = kind;
        this.order = order;
        this.row = row;
    }

    /** The type of a packed change of rows of a type. */
    static StructType type(StructType row) {
        return new StructType()
            .add("kind", DataTypes.StringType).add("order", DataTypes.LongType).add("row", row);
    }

    static Change read(byte[] packed) {
        UnsafeRow change = RowPacker.toRow(packed, 3);
        return new Change(readKind(change.getUTF8String(0)), change.getLong(1), change.getBinary(2));
    }

    byte[] pack() {
        UnsafeRowWriter writer = new UnsafeRowWriter(3, row.length + 8);
        writer.resetRowWriter();
        writer.write(0, KINDS[kind]);
        writer.write(1, order);
        writer.write(2, row);
        return writer.getRow().getBytes();
    }

    /** Read the changes of one key, in their order. */
    static List readAll(Iterator rows) {
        List changes = new ArrayList(1);
        while (rows.hasNext()) changes.add(read((byte[]) ((Tuple2) rows.next())._1()));
        if (changes.size() > 1) Collections.sort(changes);
        return changes;
    }

    boolean isRetraction() {
        return isRetraction(kind);
    }

    static boolean isRetraction(int kind) {
        return kind == UPDATE_BEFORE || kind == DELETE;
    }

    /** By place; the changes of one record are -U before +U. */
    public int compareTo(Object other) {
        Change that = (Change) other;
        return order != that.order ? (order < that.order ? -1 : 1) : kind - that.kind;
    }

    static int readKind(UTF8String kind) {
        for (int i = 0; i < KINDS.length; i++) if (KINDS[i].equals(kind)) return i;
        throw new IllegalArgumentException("Invalid row kind '" + kind + "'. Expected +I, -U, +U or -D.");
    }
}
