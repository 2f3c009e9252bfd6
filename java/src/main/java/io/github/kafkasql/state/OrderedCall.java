package io.github.kafkasql.state;

import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * FIRST_VALUE, LAST_VALUE, ARRAY_AGG and LISTAGG: values in the order of their arrival. {@link OrderedValues} keeps them.
 *
 * <p>The argument is a struct of the value, which can be NULL. A NULL struct is ignored.
 */
final class OrderedCall extends AggregateCall {
    private static final long serialVersionUID = 1;

    private final String function; // first, last, array or listagg
    private final byte[] separator;

    OrderedCall(
            String function, int argument, boolean isDistinct, DataType argumentType, DataType resultType,
            String separator) {
        super(argument, isDistinct, argumentType, resultType);
        this.function = function;
        this.separator = UTF8String.fromString(separator).getBytes();
    }

    @Override
    boolean needsCounts() {
        return false;
    }

    @Override
    boolean needsOrder() {
        return true;
    }

    @Override
    DataType[] stateTypes() {
        return new DataType[0];
    }

    @Override
    void load(InternalRow state, int column) {
        // OrderedValues has the state
    }

    @Override
    void store(Object[] state, int column) {
        // OrderedValues has the state
    }

    @Override
    void add(InternalRow row, int column, int sign) {
        // its values are added to OrderedValues
    }

    @Override
    Object result(OrderedValues values) {
        if (function.equals("first") || function.equals("last")) {
            byte[] value = function.equals("first") ? values.first() : values.last();
            return value == null ? null : value(value);
        }
        Object[] all = values.all().stream().map(this::value).toArray();
        if (function.equals("array")) return new GenericArrayData(all);
        return all.length == 0 ? null : UTF8String.concatWs(
            UTF8String.fromBytes(separator), Arrays.copyOf(all, all.length, UTF8String[].class));
    }

    /** The value in a row with a struct, or NULL. */
    private Object value(byte[] row) {
        InternalRow struct = RowPacker.toRow(row, 1).getStruct(0, 1);
        DataType type = ((StructType) argumentType).apply(0).dataType();
        return struct.isNullAt(0) ? null : struct.get(0, type);
    }
}
