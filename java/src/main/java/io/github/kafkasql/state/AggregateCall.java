package io.github.kafkasql.state;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;

/**
 * An aggregate function of a GROUP BY with retraction, and its accumulator for the current group.
 *
 * <p>With DISTINCT, a function receives each value once, when the first row with it appears, and retracts it when the
 * last one disappears.
 */
abstract class AggregateCall implements Serializable {
    private static final long serialVersionUID = 1;

    final int argument; // the column of the input; -1 for COUNT(*)
    final boolean isDistinct;
    final DataType argumentType;
    final DataType resultType;

    AggregateCall(int argument, boolean isDistinct, DataType argumentType, DataType resultType) {
        this.argument = argument;
        this.isDistinct = isDistinct;
        this.argumentType = argumentType;
        this.resultType = resultType;
    }

    /**
     * Create a call.
     *
     * @param function count, sum, avg, min, max, min_by, max_by, a function of {@link VarianceCall} or {@link OrderedCall}
     * @param argument the column of the input; -1 for COUNT(*). NULL is ignored
     * @param separator what LISTAGG writes between two values
     */
    static AggregateCall of(
            String function, int argument, boolean isDistinct, DataType argumentType, DataType resultType,
            String separator) {
        return switch (function) {
            case "count" -> new CountCall(argument, isDistinct, argumentType, resultType);
            case "sum", "avg" -> new SumCall(function, argument, isDistinct, argumentType, resultType);
            case "min", "max", "min_by", "max_by" -> new ExtremeCall(function, argument, argumentType, resultType);
            case "var_pop", "var_samp", "stddev_pop", "stddev_samp" ->
                new VarianceCall(function, argument, isDistinct, argumentType, resultType);
            default -> new OrderedCall(function, argument, isDistinct, argumentType, resultType, separator);
        };
    }

    /** Whether the function needs to know which values the group has, and how often. */
    boolean needsCounts() {
        return isDistinct;
    }

    /** Whether the function needs the values of the group in the order of their arrival. */
    boolean needsOrder() {
        return false;
    }

    /** The types in which an accumulator is kept. */
    abstract DataType[] stateTypes();

    /** Read the accumulator of a group; null for a new group. */
    abstract void load(InternalRow state, int column);

    /** Write the accumulator. */
    abstract void store(Object[] state, int column);

    /** Add a row (sign 1), or retract it (-1). */
    abstract void add(InternalRow row, int column, int sign);

    /** Add a value that the group did not have (sign 1), or retract one that it no longer has (-1). */
    void addValue(byte[] value, int sign) {
        add(RowPacker.toRow(value, 1), 0, sign);
    }

    /** Whether all values of the group must be passed to addValue again. */
    boolean needsAllValues() {
        return false;
    }

    /** Forget all values, before they are passed to addValue again. */
    void clearValues() {
        // most functions keep no values
    }

    /**
     * Return the function's result.
     *
     * @param values the values of the argument in the order of their arrival; null unless the function needs it
     */
    abstract Object result(OrderedValues values);
}
