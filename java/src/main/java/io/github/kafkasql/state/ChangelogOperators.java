package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.catalyst.expressions.MapSort;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * Stateful operators over streams of changes, which Spark does not have. A change has a row kind and an order, which are
 * columns of the stream; its other columns are a row.
 *
 * <p>This package uses little beyond Java 1.4 (no generics or lambdas) because Spark's Janino compiles it, and no API
 * that differs between Spark 4.1 and 4.3.
 */
public final class ChangelogOperators {
    private ChangelogOperators() {}

    /**
     * See {@link Normalizer}. Returns the columns of the input.
     *
     * @param returnsOldRows whether the old row of an update is returned, too
     */
    public static Dataset normalize(
            Dataset changes, String[] key, String kind, String order, boolean returnsOldRows) {
        return mapRows(changes, key, kind, order, new Normalizer(returnsOldRows));
    }

    /** See {@link Materializer}. Returns the columns of the input. */
    public static Dataset materialize(Dataset changes, String[] key, String kind, String order) {
        return mapRows(changes, key, kind, order, new Materializer());
    }

    /**
     * See {@link GroupAggregator}. Returns the key, the results and the row kind.
     *
     * @param functionNames names of functions: count, sum, avg, min, max
     * @param arguments the column of each function; null for COUNT(*)
     * @param isDistinct whether each function has DISTINCT
     * @param results the names and types of the results, as JSON
     */
    public static Dataset aggregate(
            Dataset changes, String[] key, String[] functionNames, String[] arguments, boolean[] isDistinct,
            String results, String kind) {
        StructType resultType = (StructType) DataType.fromJson(results);
        List names = new ArrayList();
        for (int i = 0; i < arguments.length; i++)
            if (arguments[i] != null && !names.contains(arguments[i])) names.add(arguments[i]);
        String[] columns = (String[]) names.toArray(new String[0]);
        StructType type = type(changes, columns);
        AggregateCall[] calls = new AggregateCall[functionNames.length];
        for (int i = 0; i < calls.length; i++) {
            int argument = names.indexOf(arguments[i]);
            DataType argumentType = argument < 0 ? null : type.apply(argument).dataType();
            calls[i] = new AggregateCall(
                functionNames[i], argument, isDistinct[i], argumentType, resultType.apply(i).dataType());
        }
        StructType keyType = type(changes, key);
        StructType outputType = new StructType().add("key", keyType).add("results", resultType);
        Dataset packed = pack(changes, key, struct(changes, columns, true), type, kind, noOrder());
        Dataset output = run(packed, new GroupAggregator(type, calls, resultType), outputType);
        List selected = new ArrayList();
        addFields(selected, "change.row.key", key);
        addFields(selected, "change.row.results", resultType.fieldNames());
        selected.add(column("change.kind").as(kind));
        return output.select((Column[]) selected.toArray(new Column[0]));
    }

    /**
     * See {@link TemporalJoiner}. Returns two structs, "left" and "right"; the latter is null if no version is valid.
     *
     * @param key the columns of both tables that are equal, with the same names and types
     * @param time the column of both tables with the time, which has the same type
     * @param columns the columns of both tables that are kept
     */
    public static Dataset joinVersions(
            Dataset left, Dataset right, String[] key, String time, String[] leftColumns, String[] rightColumns,
            String kind, String order, boolean isOuter) {
        StructType leftType = type(left, leftColumns), rightType = type(right, rightColumns);
        Column noKind = functions.lit(null).cast("string");
        Column place = order == null ? noOrder() : right.col(quote(order)).cast("bigint");
        Dataset events = packEvents(left, key, time, leftColumns, noKind, noOrder())
            .union(packEvents(right, key, time, rightColumns, right.col(quote(kind)), place));
        Dataset output = run(events, new TemporalJoiner(isOuter), TimeMode.EventTime(), OutputMode.Append());
        StructType type = new StructType().add("left", leftType).add("right", rightType);
        Column joined = RowPacker.unpack(output.col("value"), type);
        return output.select(new Column[] {joined.as("joined")})
            .select(new Column[] {column("joined.left").as("left"), column("joined.right").as("right")});
    }

    /** Convert rows to two columns: the packed event, and its packed key. */
    private static Dataset packEvents(
            Dataset rows, String[] key, String time, String[] columns, Column kind, Column order) {
        StructType type = VersionEvent.type(rows.schema().apply(time).dataType(), type(rows, columns));
        Column event = functions.struct(new Column[] {
            kind.as("kind"), rows.col(quote(time)).as("time"), order.as("order"),
            struct(rows, columns, false).as("row")});
        return rows.select(new Column[] {
            RowPacker.pack(event, type).as("change"),
            RowPacker.pack(struct(rows, key, true), type(rows, key)).as("key")});
    }

    private static Dataset mapRows(
            Dataset changes, String[] key, String kind, String order, StatefulProcessor processor) {
        List names = new ArrayList();
        for (int i = 0; i < changes.columns().length; i++)
            if (!changes.columns()[i].equals(kind) && !changes.columns()[i].equals(order))
                names.add(changes.columns()[i]);
        String[] columns = (String[]) names.toArray(new String[0]);
        StructType type = type(changes, columns);
        Column place = order == null ? noOrder() : changes.col(quote(order)).cast("bigint");
        Dataset packed = pack(changes, key, struct(changes, columns, false), type, kind, place);
        Dataset output = run(packed, processor, type);
        List selected = new ArrayList();
        addFields(selected, "change.row", columns);
        selected.add(column("change.kind").as(kind));
        if (order != null) selected.add(column("change.order").as(order));
        return output.select((Column[]) selected.toArray(new Column[0]));
    }

    /** Convert changes to two columns: the packed change, and its packed key. */
    private static Dataset pack(
            Dataset changes, String[] key, Column row, StructType type, String kind, Column order) {
        Column change = functions.struct(
            new Column[] {changes.col(quote(kind)).as("kind"), order.as("order"), row.as("row")});
        return changes.select(new Column[] {
            RowPacker.pack(change, Change.type(type)).as("change"),
            RowPacker.pack(struct(changes, key, true), type(changes, key)).as("key")});
    }

    /** Apply a processor to the changes of each key, and convert its output to the column "change". */
    private static Dataset run(Dataset packed, StatefulProcessor processor, StructType row) {
        Dataset output = run(packed, processor, TimeMode.None(), OutputMode.Update());
        return output.select(
            new Column[] {RowPacker.unpack(output.col("value"), Change.type(row)).as("change")});
    }

    private static Dataset run(Dataset packed, StatefulProcessor processor, TimeMode time, OutputMode mode) {
        return packed.groupBy(new Column[] {functions.col("key")})
            .as(Encoders.BINARY(), Encoders.tuple(Encoders.BINARY(), Encoders.BINARY()))
            .transformWithState(processor, time, mode, Encoders.BINARY());
    }

    private static void addFields(List selected, String struct, String[] names) {
        for (int i = 0; i < names.length; i++) selected.add(column(struct + "." + quote(names[i])).as(names[i]));
    }

    private static Column noOrder() {
        return functions.lit(Long.valueOf(0));
    }

    private static Column column(String name) {
        return functions.col(name);
    }

    /**
     * The columns as a struct. Maps with the same entries become the same bytes. So do other values that Spark regards
     * as equal if the struct is grouped by them.
     */
    private static Column struct(Dataset rows, String[] names, boolean isGrouped) {
        Column[] columns = new Column[names.length];
        for (int i = 0; i < names.length; i++) {
            Column value = rows.col(quote(names[i]));
            DataType type = rows.schema().apply(names[i]).dataType();
            if (isGrouped && (type.equals(DataTypes.FloatType) || type.equals(DataTypes.DoubleType)))
                value = ExpressionUtils.column(new NormalizeNaNAndZero(ExpressionUtils.expression(value)));
            if (type instanceof MapType)
                value = ExpressionUtils.column(new MapSort(ExpressionUtils.expression(value)));
            columns[i] = value.as(names[i]);
        }
        return functions.struct(columns);
    }

    private static StructType type(Dataset rows, String[] names) {
        StructType type = new StructType();
        for (int i = 0; i < names.length; i++) type = type.add(names[i], rows.schema().apply(names[i]).dataType());
        return type;
    }

    private static String quote(String name) {
        return "`" + name.replace("`", "``") + "`";
    }
}
