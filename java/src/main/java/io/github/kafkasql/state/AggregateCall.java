package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/**
 * An aggregate function of a GROUP BY with retraction, and its accumulator.
 *
 * <p>COUNT is a number. SUM and AVG are a sum and the number of its values. With DISTINCT, they receive each value once,
 * when the first row with it appears, and retract it when the last one disappears. MIN and MAX keep some of the smallest
 * or largest values, so that the next one is known when the first is retracted. When all of these were retracted, the
 * next ones are read from the values of the group, which {@link GroupAggregator} keeps.
 */
final class AggregateCall implements Serializable {
    private static final long serialVersionUID = 1;
    private static final int MAX_EXTREMES = 16;

    final int argument; // the column of the input; -1 for COUNT(*)
    private final String function;
    private final boolean isDistinct;
    private final DataType argumentType;
    private final DataType resultType;
    private transient InterpretedOrdering ordering;

    // the accumulator of the current group
    private long count;
    private BigDecimal decimals;
    private double doubles;
    private long longs;
    private transient List<byte[]> extremes; // the first values in order, each as the bytes of a row
    private boolean hasAll; // whether these are all values of the group

    AggregateCall(String function, int argument, boolean isDistinct, DataType argumentType, DataType resultType) {
        this.function = function;
        this.argument = argument;
        this.isDistinct = isDistinct;
        this.argumentType = argumentType;
        this.resultType = resultType;
    }

    /** Whether the function needs to know which values the group has. */
    boolean needsValues() {
        return isDistinct || isExtreme();
    }

    boolean isExtreme() {
        return function.equals("min") || function.equals("max");
    }

    private boolean isCount() {
        return function.equals("count");
    }

    /** The types in which an accumulator is kept. For MIN and MAX, the second number is 1 if hasAll is true, else 0. */
    DataType[] stateTypes() {
        DataType type = isExtreme() ? DataTypes.createArrayType(DataTypes.BinaryType)
            : isCount() ? DataTypes.LongType : sumType();
        return new DataType[] {type, DataTypes.LongType};
    }

    private DataType sumType() {
        if (argumentType instanceof DecimalType decimal) return new DecimalType(38, decimal.scale());
        if (argumentType.equals(DataTypes.FloatType) || argumentType.equals(DataTypes.DoubleType))
            return DataTypes.DoubleType;
        // an average of large numbers does not overflow
        return argumentType.equals(DataTypes.LongType) && function.equals("avg")
            ? new DecimalType(38, 0) : DataTypes.LongType;
    }

    /** Read the accumulator of a group; null for a new group. */
    void load(InternalRow state, int column) {
        count = state == null ? 0 : state.getLong(column + 1);
        if (isExtreme()) {
            extremes = new ArrayList<>(MAX_EXTREMES + 1);
            hasAll = state == null || count == 1;
            ArrayData values = state == null ? null : state.getArray(column);
            for (int i = 0; values != null && i < values.numElements(); i++) extremes.add(values.getBinary(i));
        } else if (!isCount()) {
            if (sumType() instanceof DecimalType type)
                decimals = state == null ? BigDecimal.ZERO
                    : state.getDecimal(column, 38, type.scale()).toJavaBigDecimal();
            else if (sumType().equals(DataTypes.DoubleType)) doubles = state == null ? 0 : state.getDouble(column);
            else longs = state == null ? 0 : state.getLong(column);
        }
    }

    /** Write the accumulator. */
    void store(Object[] state, int column) {
        if (count == 0) doubles = 0; // without the rounding errors of retracted values
        state[column + 1] = isExtreme() ? (hasAll ? 1L : 0L) : count;
        if (isExtreme()) state[column] = new GenericArrayData(extremes.toArray());
        else if (isCount()) state[column] = 0L;
        else if (sumType() instanceof DecimalType type) state[column] = Decimal.apply(decimals, 38, type.scale());
        else if (sumType().equals(DataTypes.DoubleType)) state[column] = doubles;
        else state[column] = longs;
    }

    /** Add a row (sign 1), or retract it (-1). */
    void add(InternalRow row, int column, int sign) {
        if (column >= 0 && row.isNullAt(column)) return;
        count += sign;
        if (isCount()) return;
        Object value = row.get(column, argumentType);
        if (sumType() instanceof DecimalType) {
            BigDecimal number = value instanceof Decimal decimal
                ? decimal.toJavaBigDecimal() : BigDecimal.valueOf(((Number) value).longValue());
            decimals = decimals.add(sign > 0 ? number : number.negate());
        } else if (sumType().equals(DataTypes.DoubleType)) {
            doubles += sign * ((Number) value).doubleValue();
        } else {
            longs = Math.addExact(longs, sign * ((Number) value).longValue());
        }
    }

    /** Add a value that the group did not have (sign 1), or retract one that it no longer has (-1). */
    void addValue(byte[] value, int sign) {
        if (!isExtreme()) add(RowPacker.toRow(value, 1), 0, sign);
        else if (sign > 0) addExtreme(value);
        else extremes.removeIf(extreme -> Arrays.equals(extreme, value));
    }

    private void addExtreme(byte[] value) {
        int at = 0;
        while (at < extremes.size() && compare(extremes.get(at), value) < 0) at++;
        if (at == extremes.size() && !hasAll) return; // values that are not known may precede it
        extremes.add(at, value);
        if (extremes.size() > MAX_EXTREMES) {
            extremes.remove(MAX_EXTREMES);
            hasAll = false;
        }
    }

    /** Whether the first value is unknown, so that all values of the group must be passed to addValue again. */
    boolean needsAllValues() {
        return isExtreme() && extremes.isEmpty() && !hasAll;
    }

    /** Forget all values, before they are passed to addValue again. */
    void clearValues() {
        hasAll = true;
    }

    private int compare(byte[] left, byte[] right) {
        if (ordering == null) ordering = InterpretedOrdering.forSchema(Seqs.of(argumentType));
        int order = ordering.compare(RowPacker.toRow(left, 1), RowPacker.toRow(right, 1));
        return function.equals("min") ? order : -order;
    }

    /** The function's result. */
    Object result() {
        if (isCount()) return count;
        if (isExtreme()) return extremes.isEmpty() ? null : RowPacker.toRow(extremes.get(0), 1).get(0, argumentType);
        if (count == 0) return null;
        boolean isAverage = function.equals("avg");
        if (resultType instanceof DecimalType type) {
            BigDecimal result = isAverage
                ? decimals.divide(BigDecimal.valueOf(count), type.scale(), RoundingMode.HALF_UP) : decimals;
            return Decimal.apply(result, type.precision(), type.scale());
        }
        if (isAverage) return sum() / count;
        if (resultType.equals(DataTypes.DoubleType)) return doubles;
        return longs;
    }

    private double sum() {
        if (sumType() instanceof DecimalType) return decimals.doubleValue();
        return sumType().equals(DataTypes.DoubleType) ? doubles : longs;
    }
}
