package io.github.kafkasql.state;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * VAR_POP, VAR_SAMP, STDDEV_POP and STDDEV_SAMP of DOUBLE: the number of values, their sum, and that of their squares.
 *
 * <p>The sums are exact, so a retracted value leaves no rounding error, and the order of the values has no effect.
 */
final class VarianceCall extends AggregateCall {
    private static final long serialVersionUID = 1;

    private final boolean isSample;
    private final boolean isDeviation;
    private long count;
    private long invalid; // the number of values that are NaN or infinite
    private BigDecimal sum;
    private BigDecimal squares;

    VarianceCall(String function, int argument, boolean isDistinct, DataType argumentType, DataType resultType) {
        super(argument, isDistinct, argumentType, resultType);
        isSample = function.endsWith("_samp");
        isDeviation = function.startsWith("stddev");
    }

    @Override
    DataType[] stateTypes() {
        DataType number = DataTypes.createStructType(List.of(
            DataTypes.createStructField("digits", DataTypes.BinaryType, false),
            DataTypes.createStructField("scale", DataTypes.IntegerType, false)));
        return new DataType[] {number, DataTypes.LongType, number, DataTypes.LongType};
    }

    @Override
    void load(InternalRow state, int column) {
        sum = state == null ? BigDecimal.ZERO : number(state.getStruct(column, 2));
        count = state == null ? 0 : state.getLong(column + 1);
        squares = state == null ? BigDecimal.ZERO : number(state.getStruct(column + 2, 2));
        invalid = state == null ? 0 : state.getLong(column + 3);
    }

    private static BigDecimal number(InternalRow row) {
        return new BigDecimal(new BigInteger(row.getBinary(0)), row.getInt(1));
    }

    @Override
    void store(Object[] state, int column) {
        state[column] = row(sum);
        state[column + 1] = count;
        state[column + 2] = row(squares);
        state[column + 3] = invalid;
    }

    private static InternalRow row(BigDecimal number) {
        return new GenericInternalRow(new Object[] {number.unscaledValue().toByteArray(), number.scale()});
    }

    @Override
    void add(InternalRow row, int column, int sign) {
        if (row.isNullAt(column)) return;
        count += sign;
        double number = row.getDouble(column);
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            invalid += sign;
            return;
        }
        BigDecimal exact = new BigDecimal(number);
        BigDecimal square = exact.multiply(exact);
        sum = sign > 0 ? sum.add(exact) : sum.subtract(exact);
        squares = sign > 0 ? squares.add(square) : squares.subtract(square);
        if (sum.signum() == 0) sum = BigDecimal.ZERO; // without the digits of retracted values
        if (squares.signum() == 0) squares = BigDecimal.ZERO;
    }

    @Override
    Object result(OrderedValues values) {
        long divisor = isSample ? count - 1 : count;
        if (count <= 0 || divisor == 0) return null;
        if (invalid > 0) return Double.NaN;
        BigDecimal n = BigDecimal.valueOf(count);
        BigDecimal scaled = n.multiply(squares).subtract(sum.multiply(sum)); // the variance, times n and the divisor
        double variance = scaled.divide(n.multiply(BigDecimal.valueOf(divisor)), MathContext.DECIMAL64).doubleValue();
        return isDeviation ? Math.sqrt(variance) : variance;
    }
}
