package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import io.github.kafkasql.functions.ArrivalOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionDef;
import org.apache.spark.sql.catalyst.expressions.CommonExpressionRef;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.MapSort;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.With;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Stateful operators over streams of changes, which Spark does not have. A change has a row kind and an order, which are
 * columns of the stream; its other columns are a row.
 */
public final class ChangelogOperators {
    private static final Column NO_ORDER = functions.lit(0L);

    private ChangelogOperators() {}

    /**
     * See {@link Normalizer}. Returns the columns of the input.
     *
     * @param returnsOldRows whether the old row of an update is returned, too
     */
    public static Dataset<Row> normalize(
            Dataset<Row> changes, String[] key, String kind, String order, boolean returnsOldRows) {
        return mapRows(changes, key, kind, order, new Normalizer(returnsOldRows));
    }

    /**
     * See {@link Materializer}. Returns the columns of the input.
     *
     * @param keyNames the names of the key's columns for error messages
     * @param strategy a {@link ConflictStrategy}
     */
    public static Dataset<Row> materialize(
            Dataset<Row> changes, String[] key, String kind, String order, String[] keyNames, String strategy) {
        StructType keyType = new StructType();
        for (int i = 0; i < key.length; i++) keyType = keyType.add(keyNames[i], changes.schema().apply(key[i]).dataType());
        return mapRows(changes, key, kind, order, new Materializer(ConflictStrategy.valueOf(strategy), keyType));
    }

    /**
     * See {@link GroupAggregator}. Returns the key, the results and the row kind.
     *
     * @param functionNames names of functions, see {@link AggregateCall#of}
     * @param arguments the column of each function; null for COUNT(*)
     * @param isDistinct whether each function has DISTINCT
     * @param separators what LISTAGG writes between two values
     * @param results the names and types of the results, as JSON
     * @param order the column with the order of changes, for functions that need it; null for that of arrival
     * @param windowTime the column of the key with the last instant of the group's window, for a {@link WindowAggregator};
     *     null for groups that have no end
     * @param dropsLateRows see {@link WindowAggregator}
     */
    public static Dataset<Row> aggregate(
            Dataset<Row> changes, String[] key, String[] functionNames, String[] arguments, boolean[] isDistinct,
            String[] separators, String results, String kind, String order, String windowTime, boolean dropsLateRows) {
        StructType resultType = (StructType) DataType.fromJson(results);
        String[] columns = Arrays.stream(arguments).filter(Objects::nonNull).distinct().toArray(String[]::new);
        StructType type = type(changes, columns);
        AggregateCall[] calls = new AggregateCall[functionNames.length];
        for (int i = 0; i < calls.length; i++) {
            int argument = Arrays.asList(columns).indexOf(arguments[i]);
            DataType argumentType = argument < 0 ? null : type.apply(argument).dataType();
            calls[i] = AggregateCall.of(
                functionNames[i], argument, isDistinct[i], argumentType, resultType.apply(i).dataType(), separators[i]);
        }
        StructType outputType = new StructType().add("key", type(changes, key)).add("results", resultType);
        Column place = Arrays.stream(calls).noneMatch(AggregateCall::needsOrder) ? NO_ORDER
            : order == null ? arrivalOrder() : place(changes, order);
        Dataset<Row> packed = pack(changes, key, struct(changes, columns, true), type, kind, place);
        int time = Arrays.asList(key).indexOf(windowTime);
        Dataset<Row> output = windowTime == null
            ? run(packed, new GroupAggregator(type, calls, resultType), outputType)
            : unpackChanges(run(packed, new WindowAggregator(type, calls, resultType, key.length, time, dropsLateRows),
                TimeMode.EventTime(), OutputMode.Append()), outputType);
        List<Column> selected = new ArrayList<>(fields("change.row.key", key));
        selected.addAll(fields("change.row.results", resultType.fieldNames()));
        selected.add(functions.col("change.kind").as(kind));
        return output.select(selected.toArray(Column[]::new));
    }

    /**
     * See {@link SessionWindows}. Returns the columns of the input, without the row kind and the order.
     *
     * @param session the column with the session of each row: a struct of the start and the end
     * @param retracts whether rows are retracted
     * @param dropsLateRows see {@link SessionWindows}
     */
    public static Dataset<Row> sessionWindows(
            Dataset<Row> changes, String[] key, String session, String kind, String order, boolean retracts,
            boolean dropsLateRows) {
        String[] columns = rowColumns(changes, kind, order);
        StructType type = type(changes, columns);
        int sessionColumn = Arrays.asList(columns).indexOf(session);
        Dataset<Row> packed = pack(changes, key, struct(changes, columns, false), type, kind, place(changes, order));
        Dataset<byte[]> output = run(
            packed, new SessionWindows(columns.length, sessionColumn, retracts, dropsLateRows), TimeMode.EventTime(),
            OutputMode.Append());
        DataType time = ((StructType) type.apply(session).dataType()).apply(0).dataType();
        StructType outputType = new StructType().add("start", time).add("end", time).add("row", type);
        Column window = functions.struct(functions.col("w.start").as("start"), functions.col("w.end").as("end"));
        return output.select(RowPacker.unpack(output.col("value"), outputType).as("w"))
            .select(Arrays.stream(columns)
                .map(name -> name.equals(session) ? window.as(name) : functions.col("w.row." + quote(name)).as(name))
                .toArray(Column[]::new));
    }

    /**
     * See {@link TemporalJoiner}. Returns two structs, "left" and "right"; the latter is null if no version is valid.
     *
     * @param key the columns of both tables that are equal, with the same names and types
     * @param time the column of both tables with the time, which has the same type
     * @param leftColumns the columns of the left table that are kept
     * @param rightColumns the columns of the right table that are kept
     */
    public static Dataset<Row> joinVersions(
            Dataset<Row> left, Dataset<Row> right, String[] key, String time, String[] leftColumns,
            String[] rightColumns, String kind, String order, boolean isOuter) {
        Column noKind = functions.lit(null).cast("string");
        Dataset<Row> events = packEvents(left, key, time, leftColumns, noKind, NO_ORDER)
            .union(packEvents(right, key, time, rightColumns, right.col(quote(kind)), place(right, order)));
        Dataset<byte[]> output = run(events, new TemporalJoiner(isOuter), TimeMode.EventTime(), OutputMode.Append());
        StructType type =
            new StructType().add("left", type(left, leftColumns)).add("right", type(right, rightColumns));
        return output.select(RowPacker.unpack(output.col("value"), type).as("joined"))
            .select(functions.col("joined.left").as("left"), functions.col("joined.right").as("right"));
    }

    /**
     * See {@link Joiner}. Returns the columns of both sides and the row kind. The right side of EXISTENCE is a column
     * "exists", which is true or NULL.
     *
     * @param key the columns of both sides that are equal, with the same names and types
     * @param leftColumns the columns of the left side that are kept, whose names the right side does not have
     * @param canMatch the column that is false if a column of the key is NULL and equal to nothing
     * @param conditions the rest of the condition, over the columns of both sides
     * @param isInsertOnly whether nothing is retracted, so that the query can run in append mode
     */
    public static Dataset<Row> join(
            Dataset<Row> left, Dataset<Row> right, String[] key, String[] leftColumns, String[] rightColumns,
            String kind, String order, String canMatch, String joinType, Expression[] conditions,
            boolean isInsertOnly) {
        StructType leftType = type(left, leftColumns);
        boolean isExistence = JoinType.valueOf(joinType) == JoinType.EXISTENCE;
        StructType rightType =
            isExistence ? new StructType().add("exists", DataTypes.BooleanType) : type(right, rightColumns);
        var joiner = new Joiner(
            JoinType.valueOf(joinType), bind(conditions, left, leftColumns, right, rightColumns), leftColumns.length,
            rightColumns.length);
        Dataset<Row> events = packJoinEvents(left, key, leftColumns, kind, order, canMatch, true)
            .union(packJoinEvents(right, key, rightColumns, kind, order, canMatch, false));
        OutputMode mode = isInsertOnly ? OutputMode.Append() : OutputMode.Update();
        Dataset<byte[]> output = run(events, joiner, TimeMode.None(), mode);
        StructType type =
            new StructType().add("kind", DataTypes.StringType).add("left", leftType).add("right", rightType);
        List<Column> selected = new ArrayList<>(fields("joined.left", leftColumns));
        selected.addAll(fields("joined.right", rightType.fieldNames()));
        selected.add(functions.col("joined.kind").as(kind));
        return output.select(RowPacker.unpack(output.col("value"), type).as("joined"))
            .select(selected.toArray(Column[]::new));
    }

    private static Dataset<Row> packJoinEvents(
            Dataset<Row> rows, String[] key, String[] columns, String kind, String order, String canMatch,
            boolean isLeft) {
        StructType type = JoinEvent.type(type(rows, columns));
        Column event = functions.struct(
            rows.col(kind).as("kind"), rows.col(order).as("order"), struct(rows, columns, false).as("row"),
            functions.lit(isLeft).as("isLeft"), rows.col(canMatch).as("canMatch"));
        return rows.select(RowPacker.pack(event, type).as("change"), packKey(rows, key));
    }

    /** The conjunction of expressions, with the positions of columns in a pair of rows; null for none. */
    private static Expression bind(
            Expression[] conditions, Dataset<Row> left, String[] leftColumns, Dataset<Row> right,
            String[] rightColumns) {
        Map<Object, Expression> columns = new HashMap<>();
        for (String name : leftColumns) bind(left.col(name), columns);
        for (String name : rightColumns) bind(right.col(name), columns);
        return Arrays.stream(conditions).map(condition -> replace(condition, columns)).reduce(And::new).orElse(null);
    }

    private static void bind(Column column, Map<Object, Expression> columns) {
        Expression expression = ExpressionUtils.expression(column);
        Object id = ((NamedExpression) expression).exprId();
        columns.put(id, new BoundReference(columns.size(), expression.dataType(), true));
    }

    /** Replace what only the optimizer of Spark replaces, and columns, or common parts such as the value of BETWEEN. */
    private static Expression replace(Expression node, Map<Object, Expression> known) {
        if (node instanceof AttributeReference column) return known.get(column.exprId());
        if (node instanceof CommonExpressionRef common) return known.get(common.id());
        if (node instanceof RuntimeReplaceable call) return replace(call.replacement(), known);
        if (node instanceof With with) {
            for (CommonExpressionDef common : CollectionConverters.asJava(with.defs()))
                known.put(common.id(), replace(common.child(), known));
            return replace(with.child(), known);
        }
        Expression[] children = CollectionConverters.asJava(node.children()).stream()
            .map(child -> replace(child, known)).toArray(Expression[]::new);
        return node.withNewChildren(Seqs.of(children));
    }

    /** Convert rows to two columns: the packed event, and its packed key. */
    private static Dataset<Row> packEvents(
            Dataset<Row> rows, String[] key, String time, String[] columns, Column kind, Column order) {
        StructType type = VersionEvent.type(rows.schema().apply(time).dataType(), type(rows, columns));
        Column event = functions.struct(
            kind.as("kind"), rows.col(quote(time)).as("time"), order.as("order"),
            struct(rows, columns, false).as("row"));
        return rows.select(RowPacker.pack(event, type).as("change"), packKey(rows, key));
    }

    private static Dataset<Row> mapRows(
            Dataset<Row> changes, String[] key, String kind, String order, Operator operator) {
        String[] columns = rowColumns(changes, kind, order);
        StructType type = type(changes, columns);
        Dataset<Row> packed =
            pack(changes, key, struct(changes, columns, false), type, kind, place(changes, order));
        List<Column> selected = new ArrayList<>(fields("change.row", columns));
        selected.add(functions.col("change.kind").as(kind));
        if (order != null) selected.add(functions.col("change.order").as(order));
        return run(packed, operator, type).select(selected.toArray(Column[]::new));
    }

    private static String[] rowColumns(Dataset<Row> changes, String kind, String order) {
        return Arrays.stream(changes.columns())
            .filter(name -> !name.equals(kind) && !name.equals(order)).toArray(String[]::new);
    }

    /** Convert changes to two columns: the packed change, and its packed key. */
    static Dataset<Row> pack(
            Dataset<Row> changes, String[] key, Column row, StructType type, String kind, Column order) {
        Column change = functions.struct(changes.col(quote(kind)).as("kind"), order.as("order"), row.as("row"));
        return changes.select(RowPacker.pack(change, Change.type(type)).as("change"), packKey(changes, key));
    }

    static Column packKey(Dataset<Row> rows, String[] key) {
        return RowPacker.pack(struct(rows, key, true), type(rows, key)).as("key");
    }

    /** Apply an operator to the changes of each key, and convert its output to the column "change". */
    static Dataset<Row> run(Dataset<Row> packed, Operator operator, StructType row) {
        return unpackChanges(run(packed, operator, TimeMode.None(), OutputMode.Update()), row);
    }

    private static Dataset<Row> unpackChanges(Dataset<byte[]> output, StructType row) {
        return output.select(RowPacker.unpack(output.col("value"), Change.type(row)).as("change"));
    }

    static Dataset<byte[]> run(Dataset<Row> packed, Operator operator, TimeMode time, OutputMode mode) {
        return packed.groupBy(functions.col("key"))
            .as(Encoders.BINARY(), Encoders.tuple(Encoders.BINARY(), Encoders.BINARY()))
            .transformWithState(operator, time, mode, Encoders.BINARY());
    }

    static List<Column> fields(String struct, String[] names) {
        return Arrays.stream(names).map(name -> functions.col(struct + "." + quote(name)).as(name)).toList();
    }

    /** The order in which rows arrive, see {@link ArrivalOrder}. */
    public static Column arrivalOrder() {
        return ExpressionUtils.column(new StaticInvoke(
            ArrivalOrder.class, DataTypes.LongType, "invoke", Seqs.of(), Seqs.of(), true, false, false,
            scala.Option.empty()));
    }

    private static Column place(Dataset<Row> changes, String order) {
        return order == null ? NO_ORDER : changes.col(quote(order)).cast("bigint");
    }

    /**
     * The columns as a struct. Maps with the same entries become the same bytes. So do other values that Spark regards
     * as equal if the struct is grouped by them.
     */
    static Column struct(Dataset<Row> rows, String[] names, boolean isGrouped) {
        return functions.struct(Arrays.stream(names).map(name -> {
            Column value = rows.col(quote(name));
            DataType type = rows.schema().apply(name).dataType();
            if (isGrouped && (type.equals(DataTypes.FloatType) || type.equals(DataTypes.DoubleType)))
                value = ExpressionUtils.column(new NormalizeNaNAndZero(ExpressionUtils.expression(value)));
            if (type instanceof MapType)
                value = ExpressionUtils.column(new MapSort(ExpressionUtils.expression(value)));
            return value.as(name);
        }).toArray(Column[]::new));
    }

    static StructType type(Dataset<Row> rows, String[] names) {
        StructType type = new StructType();
        for (String name : names) type = type.add(name, rows.schema().apply(name).dataType());
        return type;
    }

    private static String quote(String name) {
        return "`" + name.replace("`", "``") + "`";
    }
}
