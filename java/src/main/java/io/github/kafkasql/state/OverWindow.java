package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.RowOrdering;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.types.StructType;

/**
 * The definition of an OVER window: the order of the rows of a partition, and the functions by their frames.
 *
 * <p>The functions read the arguments of a row, the columns that they use.
 */
final class OverWindow implements Serializable {
    private static final long serialVersionUID = 1;

    final OverFrame[] frames;
    final int argumentCount;
    private final StructType results;
    private final int[] arguments; // positions in a row
    private final Attribute[] columns; // of a row
    private final SortOrder[] order;
    private transient RowPacker resultPacker;
    private transient UnsafeProjection argumentProjection;
    private transient Comparator<InternalRow> comparator;

    /**
     * @param results the types of the results, by position
     * @param columns the columns of a row
     * @param arguments the positions of the columns that the functions read
     * @param order the order of the rows
     */
    OverWindow(OverFrame[] frames, StructType results, Attribute[] columns, int[] arguments, SortOrder[] order) {
        this.frames = frames;
        this.results = results;
        this.columns = columns;
        this.arguments = arguments;
        this.order = order;
        argumentCount = arguments.length;
    }

    void open() {
        resultPacker = new RowPacker(results);
        argumentProjection = UnsafeProjection.create(Seqs.of(Arrays.stream(arguments)
            .mapToObj(i -> new BoundReference(i, columns[i].dataType(), true)).toArray(Expression[]::new)));
        comparator = order.length == 0 ? (left, right) -> 0 : RowOrdering.create(Seqs.of(order), Seqs.of(columns));
        for (OverFrame frame : frames) frame.open();
    }

    UnsafeRow row(byte[] packed) {
        return RowPacker.toRow(packed, columns.length);
    }

    int compare(UnsafeRow left, UnsafeRow right) {
        return comparator.compare(left, right);
    }

    UnsafeRow arguments(UnsafeRow row) {
        return argumentProjection.apply(row).copy();
    }

    /** Split rows, which are sorted stably first, into those that have an equal place in the order. */
    List<List<UnsafeRow>> peers(List<UnsafeRow> rows) {
        if (rows.size() == 1 || order.length == 0) return rows.isEmpty() ? List.of() : List.of(rows);
        Collections.sort(rows, comparator);
        List<List<UnsafeRow>> groups = new ArrayList<>();
        int start = 0;
        for (int i = 1; i <= rows.size(); i++) {
            if (i < rows.size() && compare(rows.get(i - 1), rows.get(i)) == 0) continue;
            groups.add(rows.subList(start, i));
            start = i;
        }
        return groups;
    }

    /**
     * Add rows that have an equal place in the order to the frames, and return the packed results of each.
     *
     * @param peers the arguments of the rows
     * @param time of the rows, in microseconds
     */
    List<byte[]> add(List<UnsafeRow> peers, long time) {
        Object[][] values = new Object[peers.size()][results.length()];
        for (OverFrame frame : frames) {
            for (int i = 0; i < values.length; i++) {
                frame.add(peers.get(i), time);
                if (frame.isRows) frame.writeResults(peers.get(i), values[i]);
            }
            if (frame.isRows) continue;
            frame.writeResults(peers.get(0), values[0]);
            for (Object[] others : values) for (int position : frame.positions) others[position] = values[0][position];
        }
        return Arrays.stream(values).map(row -> resultPacker.toBytes(new GenericInternalRow(row))).toList();
    }

    /** How many rows before the next one its frames need at most. */
    long precedingRows() {
        return maximum(true);
    }

    /** How many microseconds before the next row its frames begin at most; -1 if no frame depends on the time. */
    long precedingTime() {
        return maximum(false);
    }

    private long maximum(boolean isRows) {
        return Arrays.stream(frames).filter(frame -> frame.isBounded() && frame.isRows == isRows)
            .mapToLong(frame -> frame.preceding).max().orElse(isRows ? 0 : -1);
    }

    /** Whether rows behind the watermark are late. In a sort or bounded frames, only those behind the last row are. */
    boolean dropsBehindWatermark() {
        return Arrays.stream(frames).anyMatch(frame -> !frame.isBounded() || frame instanceof LagFrame);
    }

    /** The indexes of unbounded frames, which have accumulators. */
    int[] unbounded() {
        return IntStream.range(0, frames.length).filter(i -> !frames[i].isBounded()).toArray();
    }
}
