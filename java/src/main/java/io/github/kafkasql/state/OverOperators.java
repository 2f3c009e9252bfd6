package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Lag;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.StructType;

/** OVER windows and sorts of streams, which Spark does not have. */
public final class OverOperators {
    private static final String ROW = "change.row";
    private static final String RESULTS = "change.results";

    private OverOperators() {}

    /** Whether an OVER window can have a function. */
    public static boolean isSupported(Expression function) {
        Expression resolved = OverCalls.resolve(function);
        return resolved instanceof DeclarativeAggregate || resolved instanceof Lag;
    }

    /**
     * See {@link EventTimeOverAggregator}. Returns the columns, and the results r0, r1 and so on.
     *
     * @param key the columns of PARTITION BY
     * @param columns the columns that are returned or that an expression reads
     * @param time the column with the event time, by which the rows are ordered
     * @param order the order of rows with an equal time
     * @param calls the functions
     * @param dropsLateRows whether rows behind the watermark are late
     */
    public static Dataset<Row> overEventTime(
            Dataset<Row> rows, String[] key, String[] columns, String time, Expression[] order, OverCalls calls,
            boolean dropsLateRows) {
        Operator operator = new EventTimeOverAggregator(window(rows, columns, order, calls), dropsLateRows);
        return runOnRows(rows, key, columns, time, operator, calls, TimeMode.EventTime());
    }

    /**
     * See {@link ProcessingTimeOverAggregator}. Returns the columns, and the results r0, r1 and so on.
     *
     * @param time the column with the processing time
     */
    public static Dataset<Row> overProcessingTime(
            Dataset<Row> rows, String[] key, String[] columns, String time, OverCalls calls) {
        Operator operator = new ProcessingTimeOverAggregator(window(rows, columns, new Expression[0], calls));
        return runOnRows(rows, key, columns, time, operator, calls, TimeMode.None());
    }

    /**
     * See {@link OverAggregator}. Returns the columns, the results r0, r1 and so on, the row kind and the order of changes.
     *
     * @param place the column with the order of the changes of the input; null for the order of arrival
     */
    public static Dataset<Row> over(
            Dataset<Row> changes, String[] key, String[] columns, String kind, String place, Expression[] order,
            OverCalls calls) {
        StructType type = ChangelogOperators.type(changes, columns);
        StructType outputType = new StructType().add("row", type).add("results", calls.type());
        Dataset<Row> packed = ChangelogOperators.pack(
            changes, key, ChangelogOperators.struct(changes, columns, false), type, kind,
            place == null ? ChangelogOperators.arrivalOrder() : changes.col(place).cast("bigint"));
        Dataset<Row> output =
            ChangelogOperators.run(packed, new OverAggregator(window(changes, columns, order, calls)), outputType);
        List<Column> selected = new ArrayList<>(ChangelogOperators.fields("change.row.row", columns));
        selected.addAll(ChangelogOperators.fields("change.row.results", calls.type().fieldNames()));
        selected.add(functions.col("change.kind").as(kind));
        selected.add(functions.col("change.order").as("order"));
        return output.select(selected.toArray(Column[]::new));
    }

    private static Dataset<Row> runOnRows(
            Dataset<Row> rows, String[] key, String[] columns, String time, Operator operator, OverCalls calls,
            TimeMode mode) {
        StructType type = ChangelogOperators.type(rows, columns);
        Column event = functions.struct(
            rows.col(time).as("time"), ChangelogOperators.arrivalOrder().as("arrival"),
            ChangelogOperators.struct(rows, columns, false).as("row"));
        Dataset<Row> packed = rows.select(
            RowPacker.pack(event, OverEvent.type(rows.schema().apply(time).dataType(), type)).as("change"), ChangelogOperators.packKey(rows, key));
        Dataset<byte[]> output = ChangelogOperators.run(packed, operator, mode, OutputMode.Append());
        StructType outputType = new StructType().add("row", type).add("results", calls.type());
        List<Column> selected = new ArrayList<>(ChangelogOperators.fields(ROW, columns));
        selected.addAll(ChangelogOperators.fields(RESULTS, calls.type().fieldNames()));
        return output.select(RowPacker.unpack(output.col("value"), outputType).as("change"))
            .select(selected.toArray(Column[]::new));
    }

    private static OverWindow window(Dataset<Row> rows, String[] columns, Expression[] order, OverCalls calls) {
        Attribute[] attributes = Arrays.stream(columns)
            .map(name -> (Attribute) ExpressionUtils.expression(rows.col(name))).toArray(Attribute[]::new);
        SortOrder[] orders = Arrays.stream(order).map(SortOrder.class::cast).toArray(SortOrder[]::new);
        return calls.window(attributes, orders);
    }
}
