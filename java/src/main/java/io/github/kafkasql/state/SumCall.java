package io.github.kafkasql.state;

import java.math.BigDecimal;
import java.math.RoundingMode;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;

/** SUM and AVG: a sum and the number of its values. */
final class SumCall extends AggregateCall {
    private static final long serialVersionUID = 1;

    private final boolean isAverage;
    private long count;
    private BigDecimal decimals;
    private double doubles;
    private long longs;

    SumCall(String function, int argument, boolean isDistinct, DataType argumentType, DataType resultType) {
        super(argument, isDistinct, argumentType, resultType);
        isAverage = function.equals("avg");
    }

    @Override
    DataType[] stateTypes() {
        return new DataType[] {sumType(), DataTypes.LongType};
    }

    private DataType sumType() {
        if (argumentType instanceof DecimalType decimal) return new DecimalType(38, decimal.scale());
        if (argumentType.equals(DataTypes.FloatType) || argumentType.equals(DataTypes.DoubleType))
            return DataTypes.DoubleType;
        // an average of large numbers does not overflow
        return argumentType.equals(DataTypes.LongType) && isAverage ? new DecimalType(38, 0) : DataTypes.LongType;
    }

    @Override
    void load(InternalRow state, int column) {
        count = state == null ? 0 : state.getLong(column + 1);
        if (sumType() instanceof DecimalType type)
            decimals = state == null ? BigDecimal.ZERO : state.getDecimal(column, 38, type.scale()).toJavaBigDecimal();
        else if (sumType().equals(DataTypes.DoubleType)) doubles = state == null ? 0 : state.getDouble(column);
        else longs = state == null ? 0 : state.getLong(column);
    }

    @Override
    void store(Object[] state, int column) {
        if (count == 0) doubles = 0; // without the rounding errors of retracted values
        state[column + 1] = count;
        if (sumType() instanceof DecimalType type) state[column] = Decimal.apply(decimals, 38, type.scale());
        else if (sumType().equals(DataTypes.DoubleType)) state[column] = doubles;
        else state[column] = longs;
    }

    @Override
    void add(InternalRow row, int column, int sign) {
        if (row.isNullAt(column)) return;
        count += sign;
        Object value = row.get(column, argumentType);
        if (sumType() instanceof DecimalType) {
            BigDecimal number = value instanceof Decimal decimal
                ? decimal.toJavaBigDecimal() : BigDecimal.valueOf(((Number) value).longValue());
            decimals = decimals.add(sign > 0 ? number : number.negate());
        } else if (sumType().equals(DataTypes.DoubleType)) {
            doubles += sign * ((Number) value).doubleValue();
        } else {
            long number = ((Number) value).longValue();
            longs = sign > 0 ? Math.addExact(longs, number) : Math.subtractExact(longs, number);
        }
    }

    @Override
    Object result(OrderedValues values) {
        if (count == 0) return null;
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
