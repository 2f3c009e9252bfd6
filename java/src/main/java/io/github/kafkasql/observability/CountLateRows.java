package io.github.kafkasql.observability;

import io.github.kafkasql.Seqs;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.plans.logical.Aggregate;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.Join;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.streaming.runtime.IncrementalExecution;
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Counts the rows that the aggregates of a micro-batch drop because they are late.
 *
 * <p>Spark counts them after each task has aggregated its rows, so the rows of a group count as one. This rule adds a filter
 * below each aggregate of a stream that keeps all rows and counts those whose group Spark drops: the first column of the
 * GROUP BY with an event time is not after the watermark of the micro-batch before. An aggregate over the result of
 * another stateful operator is omitted, because its rows are never late.
 *
 * <p>A query must not fail because its late rows cannot be counted: then the plan stays as it is.
 */
public final class CountLateRows extends Rule<LogicalPlan> {
    private static final String WATERMARK = "spark.watermarkDelayMs"; // metadata of columns with an event time
    private static final String ALL_OPERATORS = "spark.sql.streaming.statefulOperator.allowMultiple";

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        try {
            if (!plan.isStreaming()) return plan;
            LateRowCounter counter = counter();
            return counter == null ? plan : count(plan, counter);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            logDebug(() -> "Late rows are not counted: " + e);
            return plan;
        }
    }

    /** The counter of the micro-batch that is planned; null before the first watermark. */
    @SuppressWarnings("resource") // the session is Spark's
    private static LateRowCounter counter() throws ReflectiveOperationException {
        SparkContext context = SparkContext.getOrCreate();
        String query = context.getLocalProperty("sql.streaming.queryId");
        if (query == null) return null;
        SparkSession session = SparkSession.active();
        StreamExecution stream = session.sharedState().activeStreamingQueries().get(UUID.fromString(query));
        IncrementalExecution batch = stream.lastExecution();
        long id = batch.currentBatchId();
        if (!String.valueOf(id).equals(context.getLocalProperty("streaming.sql.batchId"))) return null;
        Object offsets;
        if (session.conf().get(ALL_OPERATORS, "true").equals("true")) {
            Option<?> previous = batch.prevOffsetSeqMetadata();
            if (previous.isEmpty()) return null;
            offsets = previous.get();
        } else {
            offsets = get(batch, "offsetSeqMetadata");
        }
        long watermark = (long) get(offsets, "batchWatermarkMs");
        if (watermark <= 0) return null;
        return LateRowCounter.of(context, batch.runId().toString(), id, watermark * 1000);
    }

    /** Call a method whose class or result has another type in Spark 4.1. */
    private static Object get(Object object, String name) throws ReflectiveOperationException {
        return object.getClass().getMethod(name).invoke(object);
    }

    private static LogicalPlan count(LogicalPlan plan, LateRowCounter counter) {
        if (plan instanceof Aggregate aggregate && plan.isStreaming()) {
            LogicalPlan child = aggregate.child();
            Expression end = endOfGroup(aggregate);
            if (end != null && !isCounted(child) && !keepsState(child)) {
                return plan.withNewChildren(Seqs.of(new Filter(keep(counter, end), child)));
            }
        }
        List<LogicalPlan> children = new ArrayList<>();
        boolean isChanged = false;
        for (LogicalPlan child : children(plan)) {
            LogicalPlan counted = count(child, counter);
            isChanged |= counted != child;
            children.add(counted);
        }
        return isChanged ? plan.withNewChildren(Seqs.of(children.toArray(LogicalPlan[]::new))) : plan;
    }

    /** The time after which Spark drops a group: the end of its window, or its event time; null if it drops none. */
    private static Expression endOfGroup(Aggregate aggregate) {
        for (Expression key : CollectionConverters.asJava(aggregate.groupingExpressions())) {
            if (!(key instanceof NamedExpression named) || !named.metadata().contains(WATERMARK)) continue;
            Expression time = key instanceof Alias alias ? alias.child() : key;
            if (time.dataType() instanceof StructType) time = new GetStructField(time, 1, Option.empty());
            return new PreciseTimestampConversion(time, time.dataType(), DataTypes.LongType);
        }
        return null;
    }

    private static Expression keep(LateRowCounter counter, Expression end) {
        Expression time = new Coalesce(Seqs.of(end, new Literal(Long.MAX_VALUE, DataTypes.LongType)));
        Expression object = new Literal(counter, new ObjectType(LateRowCounter.class));
        return new Invoke(object, "keep", DataTypes.BooleanType, Seqs.of(time), Seqs.of(), false, false, false);
    }

    private static boolean isCounted(LogicalPlan plan) {
        return plan instanceof Filter filter
            && filter.condition() instanceof Invoke invoke && invoke.functionName().equals("keep");
    }

    private static boolean keepsState(LogicalPlan plan) {
        if (!plan.isStreaming()) return false;
        String name = plan.nodeName();
        if (plan instanceof Aggregate || name.startsWith("Deduplicate") || name.contains("WithState")) return true;
        if (plan instanceof Join join && join.left().isStreaming() && join.right().isStreaming()) return true;
        return children(plan).stream().anyMatch(CountLateRows::keepsState);
    }

    private static List<LogicalPlan> children(LogicalPlan plan) {
        return CollectionConverters.asJava(plan.children());
    }
}
