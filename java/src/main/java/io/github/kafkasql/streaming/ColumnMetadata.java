package io.github.kafkasql.streaming;

import io.github.kafkasql.Seqs;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.types.MetadataBuilder;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Gives the references to columns in a plan the metadata that the columns have now, after an operator below was replaced.
 * Spark's analyzer does not: so a column would not be an event time in the operators above.
 */
public final class ColumnMetadata {
    private static final String SESSION = "spark.sessionWindow"; // metadata of columns with session windows
    private static final String WATERMARK = "spark.watermarkDelayMs"; // metadata of columns with an event time

    private ColumnMetadata() {}

    public static LogicalPlan refresh(LogicalPlan plan) {
        if (CollectionConverters.asJava(plan.children()).isEmpty()) return plan;
        LogicalPlan[] children = CollectionConverters.asJava(plan.children()).stream()
            .map(ColumnMetadata::refresh).toArray(LogicalPlan[]::new);
        LogicalPlan refreshed = plan.withNewChildren(Seqs.of(children));
        Map<ExprId, Attribute> columns = new HashMap<>();
        for (LogicalPlan child : children)
            for (Attribute column : CollectionConverters.asJava(child.output())) columns.put(column.exprId(), column);
        return refreshed.mapExpressions(expression -> refresh(expression, columns));
    }

    private static Expression refresh(Expression node, Map<ExprId, Attribute> columns) {
        if (node instanceof AttributeReference reference) {
            Attribute column = columns.get(reference.exprId());
            return column == null || column.metadata().equals(reference.metadata())
                ? reference : reference.withMetadata(column.metadata());
        }
        if (CollectionConverters.asJava(node.children()).isEmpty()) return node;
        Expression[] children = CollectionConverters.asJava(node.children()).stream()
            .map(child -> refresh(child, columns)).toArray(Expression[]::new);
        Expression refreshed = node.withNewChildren(Seqs.of(children));
        return refreshed instanceof Alias alias && alias.metadata().contains(SESSION) ? refreshSession(alias) : refreshed;
    }

    /** The analyzer gives a session window the metadata that its time had when the query was analyzed. */
    private static Alias refreshSession(Alias session) {
        MetadataBuilder metadata = new MetadataBuilder().withMetadata(session.metadata());
        for (Attribute time : CollectionConverters.asJava(session.child().references().toSeq()))
            if (time.metadata().contains(WATERMARK)) metadata.putLong(WATERMARK, time.metadata().getLong(WATERMARK));
        return new Alias(
            session.child(), session.name(), session.exprId(), session.qualifier(), Option.apply(metadata.build()),
            session.nonInheritableMetadataKeys());
    }
}
