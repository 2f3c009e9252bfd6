package io.github.kafkasql.state;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** COUNT: a number. */
final class CountCall extends AggregateCall {
    private static final long serialVersionUID = 1;

    private long count;

    CountCall(int argument, boolean isDistinct, DataType argumentType, DataType resultType) {
        super(argument, isDistinct, argumentType, resultType);
    }

    @Override
    DataType[] stateTypes() {
        return new DataType[] {DataTypes.LongType, DataTypes.LongType}; // the first one is not used
    }

    @Override
    void load(InternalRow state, int column) {
        count = state == null ? 0 : state.getLong(column + 1);
    }

    @Override
    void store(Object[] state, int column) {
        state[column] = 0L;
        state[column + 1] = count;
    }

    @Override
    void add(InternalRow row, int column, int sign) {
        if (column < 0 || !row.isNullAt(column)) count += sign;
    }

    @Override
    Object result(OrderedValues values) {
        return count;
    }
}
