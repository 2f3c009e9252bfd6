package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Top-N and deduplication of streams, which Spark does not have. */
public final class RankOperators {
    private RankOperators() {}

    /**
     * See {@link Ranker}, and {@link RetractingRanker} for rows with a row kind. Returns the columns of the rows, the
     * rank and the row kind.
     *
     * @param key the columns of PARTITION BY
     * @param columns the columns that are kept, with those of ORDER BY
     * @param kind the column with the row kind; null if no row is retracted
     * @param order the column with the order of arrival; null if rows arrive in the order in which they are read
     * @param rowOrder the ORDER BY, see {@link #rowOrder}
     * @param start the first rank
     * @param end the last rank
     * @param hasRank whether the rank is used
     * @param returnsOldRows whether the old rows of updates are returned
     */
    public static Dataset<Row> rank(
            Dataset<Row> rows, String[] key, String[] columns, String kind, String order, RowOrder rowOrder, int start,
            int end, boolean hasRank, boolean returnsOldRows) {
        var range = new RankRange(start, end, hasRank, returnsOldRows);
        Ranker ranker = kind == null ? new Ranker(range, rowOrder) : new RetractingRanker(range, rowOrder);
        Dataset<Row> packed = pack(rows, key, columns, kind, order);
        return run(packed, ranker, TimeMode.None(), OutputMode.Update(), rows, columns);
    }

    /** See {@link WindowRanker}. The last column of the key is the time of the window. */
    public static Dataset<Row> rankWindows(
            Dataset<Row> rows, String[] key, String[] columns, RowOrder rowOrder, int start, int end,
            boolean dropsLateRows) {
        var ranker = new WindowRanker(new RankRange(start, end, true, false), rowOrder, key.length, dropsLateRows);
        Dataset<Row> packed = pack(rows, key, columns, null, null);
        return run(packed, ranker, TimeMode.EventTime(), OutputMode.Append(), rows, columns);
    }

    /** See {@link FirstRowKeeper}. */
    public static Dataset<Row> keepFirst(
            Dataset<Row> rows, String[] key, String[] columns, RowOrder rowOrder, boolean dropsLateRows) {
        TimeMode time = rowOrder.columns().length > 0 ? TimeMode.EventTime() : TimeMode.None();
        Dataset<Row> packed = pack(rows, key, columns, null, null);
        return run(packed, new FirstRowKeeper(rowOrder, dropsLateRows), time, OutputMode.Append(), rows, columns);
    }

    /**
     * Describe an ORDER BY, see {@link RowOrder}.
     *
     * @param columns the columns of rows
     * @param orderColumns those of ORDER BY
     */
    public static RowOrder rowOrder(
            Dataset<Row> rows, String[] columns, String[] orderColumns, boolean[] descending, boolean[] nullsFirst,
            boolean lastIsFirst) {
        int[] positions = Arrays.stream(orderColumns).mapToInt(Arrays.asList(columns)::indexOf).toArray();
        return new RowOrder(ChangelogOperators.type(rows, columns), positions, descending, nullsFirst, lastIsFirst);
    }

    private static Dataset<Row> pack(Dataset<Row> rows, String[] key, String[] columns, String kind, String order) {
        Column change = functions.struct(
            (kind == null ? functions.lit(RowKind.INSERT.text.toString()) : rows.col(kind)).as("kind"),
            (order == null ? ChangelogOperators.arrivalOrder() : rows.col(order).cast("bigint")).as("order"),
            ChangelogOperators.struct(rows, columns, false).as("row"));
        StructType type = Change.type(ChangelogOperators.type(rows, columns));
        return rows.select(RowPacker.pack(change, type).as("change"), ChangelogOperators.packKey(rows, key));
    }

    private static Dataset<Row> run(
            Dataset<Row> packed, Operator operator, TimeMode time, OutputMode mode, Dataset<Row> rows,
            String[] columns) {
        Dataset<byte[]> output = ChangelogOperators.run(packed, operator, time, mode);
        StructType type = new StructType()
            .add("kind", DataTypes.StringType).add("row", ChangelogOperators.type(rows, columns))
            .add("rank", DataTypes.LongType);
        List<Column> selected = new ArrayList<>(ChangelogOperators.fields("change.row", columns));
        selected.add(functions.col("change.rank").as("rank"));
        selected.add(functions.col("change.kind").as("__row_kind"));
        return output.select(RowPacker.unpack(output.col("value"), type).as("change"))
            .select(selected.toArray(Column[]::new));
    }
}
