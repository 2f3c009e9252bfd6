package io.github.kafkasql.functions;

import java.util.IllegalFormatException;
import java.util.Locale;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * {@code printf(format, values)}: the values of a row as text; null if they do not fit the format.
 *
 * <p>It is an object, not a static method, because it needs the types of the values.
 */
public final class Printf extends FlinkFunction {
    private final StructField[] fields;

    Printf() {
        this(new StructType());
    }

    private Printf(StructType row) {
        super("printf", STRING, STRING, row);
        fields = row.fields();
    }

    @Override
    public BoundFunction bind(StructType arguments) {
        return new Printf((StructType) arguments.fields()[1].dataType());
    }

    public UTF8String invoke(UTF8String format, InternalRow row) {
        if (format == null) return null;
        Object[] values = new Object[fields.length];
        for (int i = 0; i < values.length; i++) values[i] = value(row, i, fields[i].dataType());
        try {
            return UTF8String.fromString(String.format(Locale.US, format.toString(), values));
        } catch (IllegalFormatException e) {
            return null;
        }
    }

    /** Return a value; a decimal is a text in Flink, which conversions of numbers reject. */
    private static Object value(InternalRow row, int index, DataType type) {
        Object value = row.get(index, type);
        return value instanceof Decimal decimal ? decimal.toJavaBigDecimal().toPlainString() : value;
    }
}
