package io.github.kafkasql.streaming;

import io.github.kafkasql.Seqs;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.classic.ExpressionUtils;

/**
 * An event time that filters stay above. Spark moves a filter by other columns below the watermark, where the rows that
 * it drops no longer advance it. It does not move a filter below an expression that is not deterministic.
 */
public final class EventTime {
    private EventTime() {}

    public static long passEventTime(long micros) {
        return micros;
    }

    /** The same time, which counts as not deterministic. */
    public static Column of(Column time) {
        Expression expression = ExpressionUtils.expression(time);
        return ExpressionUtils.column(new StaticInvoke(
            EventTime.class, expression.dataType(), "passEventTime", Seqs.of(expression),
            Seqs.of(expression.dataType()), true, true, false, scala.Option.empty()));
    }
}
