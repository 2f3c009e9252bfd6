package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.io.Serializable;
import java.util.Comparator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Ascending$;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Descending$;
import org.apache.spark.sql.catalyst.expressions.NullsFirst$;
import org.apache.spark.sql.catalyst.expressions.NullsLast$;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.codegen.GenerateOrdering$;
import org.apache.spark.sql.types.StructType;

/**
 * The ORDER BY of a {@link Ranker}. Of rows that are equal in it, the one that arrived first is the first one, or the
 * last one if {@code lastIsFirst}.
 */
public record RowOrder(StructType type, int[] columns, boolean[] descending, boolean[] nullsFirst, boolean lastIsFirst)
        implements Serializable {
    Comparator<RankedRow> comparator() {
        Comparator<RankedRow> arrival = Comparator.comparingLong(RankedRow::number);
        if (lastIsFirst) arrival = arrival.reversed();
        if (columns.length == 0) return arrival;
        SortOrder[] orders = new SortOrder[columns.length];
        for (int i = 0; i < orders.length; i++) {
            var column = new BoundReference(columns[i], type.apply(columns[i]).dataType(), true);
            orders[i] = new SortOrder(
                column, descending[i] ? Descending$.MODULE$ : Ascending$.MODULE$,
                nullsFirst[i] ? NullsFirst$.MODULE$ : NullsLast$.MODULE$, Seqs.of());
        }
        Comparator<InternalRow> order = GenerateOrdering$.MODULE$.generate(Seqs.of(orders));
        return Comparator.comparing(RankedRow::row, order::compare).thenComparing(arrival);
    }

    RankedRow row(byte[] bytes, long number) {
        return new RankedRow(bytes, RowPacker.toRow(bytes, type.length()), number);
    }
}
