package io.github.kafkasql.state;

import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/** A row of a {@link Ranker}, with a number that is larger than those of the rows that arrived before it. */
record RankedRow(byte[] bytes, UnsafeRow row, long number) {
    /** A change of the result: the row kind, the row and its rank. */
    byte[] change(RowKind kind, long rank) {
        var writer = new UnsafeRowWriter(3, bytes.length + 8);
        writer.resetRowWriter();
        writer.write(0, kind.text);
        writer.write(1, bytes);
        writer.write(2, rank);
        return writer.getRow().getBytes();
    }
}
