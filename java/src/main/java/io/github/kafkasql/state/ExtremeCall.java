package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.InterpretedOrdering;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/**
 * MIN and MAX: some of the smallest or largest values, so that the next one is known when the first is retracted. When
 * all of these were retracted, the next ones are read from the values of the group, which {@link GroupAggregator} keeps.
 *
 * <p>MIN_BY and MAX_BY are the same for structs of an order and a value, of which they return the value.
 */
final class ExtremeCall extends AggregateCall {
    private static final long serialVersionUID = 1;
    private static final int MAX_EXTREMES = 16;

    private final boolean isMin;
    private final boolean isBy;
    private transient InterpretedOrdering ordering;
    private transient List<byte[]> extremes; // the first values in order, each as the bytes of a row
    private boolean hasAll; // whether these are all values of the group

    ExtremeCall(String function, int argument, DataType argumentType, DataType resultType) {
        super(argument, false, argumentType, resultType);
        isMin = function.startsWith("min");
        isBy = function.endsWith("_by");
    }

    @Override
    boolean needsCounts() {
        return true;
    }

    /** The second number is 1 if hasAll is true, else 0. */
    @Override
    DataType[] stateTypes() {
        return new DataType[] {DataTypes.createArrayType(DataTypes.BinaryType), DataTypes.LongType};
    }

    @Override
    void load(InternalRow state, int column) {
        extremes = new ArrayList<>(MAX_EXTREMES + 1);
        hasAll = state == null || state.getLong(column + 1) == 1;
        ArrayData values = state == null ? null : state.getArray(column);
        for (int i = 0; values != null && i < values.numElements(); i++) extremes.add(values.getBinary(i));
    }

    @Override
    void store(Object[] state, int column) {
        state[column] = new GenericArrayData(extremes.toArray());
        state[column + 1] = hasAll ? 1L : 0L;
    }

    @Override
    void add(InternalRow row, int column, int sign) {
        throw new UnsupportedOperationException("only values are added");
    }

    @Override
    void addValue(byte[] value, int sign) {
        if (sign > 0) addExtreme(value);
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

    @Override
    boolean needsAllValues() {
        return extremes.isEmpty() && !hasAll;
    }

    @Override
    void clearValues() {
        hasAll = true;
    }

    private int compare(byte[] left, byte[] right) {
        if (ordering == null) ordering = InterpretedOrdering.forSchema(Seqs.of(argumentType));
        int order = ordering.compare(RowPacker.toRow(left, 1), RowPacker.toRow(right, 1));
        return isMin ? order : -order;
    }

    @Override
    Object result(OrderedValues values) {
        if (extremes.isEmpty()) return null;
        InternalRow first = RowPacker.toRow(extremes.get(0), 1);
        if (!isBy) return first.get(0, argumentType);
        InternalRow pair = first.getStruct(0, 2);
        return pair.isNullAt(1) ? null : pair.get(1, resultType);
    }
}
