package io.github.kafkasql.state;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Functions of an OVER window whose frame is the same. It ends with the current row. The rows of a partition are added
 * in their order.
 */
abstract class OverFrame implements Serializable {
    private static final long serialVersionUID = 1;
    static final long UNBOUNDED = -1;

    final boolean isRows; // ROWS, or else RANGE: rows with an equal order have the same frame
    final long preceding; // how many rows or microseconds before the current row the frame begins, or UNBOUNDED
    final int[] positions; // of the functions, among all functions of the window

    OverFrame(boolean isRows, long preceding, int[] positions) {
        this.isRows = isRows;
        this.preceding = preceding;
        this.positions = positions;
    }

    final boolean isBounded() {
        return preceding != UNBOUNDED;
    }

    /** Compile the functions, before anything else. */
    abstract void open();

    /**
     * Start a partition. A bounded frame starts with the rows that are then added.
     *
     * @param accumulators the result of {@link #accumulators} after the rows before; null without such rows
     */
    abstract void begin(byte[] accumulators);

    /** Add a row, which is the current row now. */
    abstract void add(InternalRow row, long time);

    /** Write the results of the current row to their positions. */
    abstract void writeResults(InternalRow row, Object[] results);

    /** What an unbounded frame keeps of its rows. */
    abstract byte[] accumulators();
}
