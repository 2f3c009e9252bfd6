package io.github.kafkasql.observability;

import java.lang.reflect.Method;
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
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.None$;
import scala.Option;
import scala.collection.Iterator;
import scala.collection.immutable.List;
import scala.collection.immutable.Nil$;

/**
 * Counts the rows that the aggregates of a micro-batch drop because they are late.
 *
 * <p>Spark counts them after each task has aggregated its rows, so the rows of a group count as one. This rule adds a filter
 * below each aggregate of a stream that keeps all rows and counts those whose group Spark drops: the first column of the
 * GROUP BY with an event time is not after the watermark of the micro-batch before. An aggregate over the result of
 * another stateful operator is omitted, because its rows are never late.
 *
 * <p>A query must not fail because its late rows cannot be counted: then the plan stays as it is. It uses little beyond Java
 * 1.4 because Spark's Janino compiles it, and reflection where Spark 4.1 to 4.3 differ.
 */
public final class CountLateRows extends Rule {
    private static final String WATERMARK = "spark.watermarkDelayMs"; // metadata of columns with an event time
    private static final String ALL_OPERATORS = "spark.sql.streaming.statefulOperator.allowMultiple";

    public TreeNode apply(TreeNode plan) {
        try {
            LogicalPlan root = (LogicalPlan) plan;
            if (!root.isStreaming()) return plan;
            LateRowCounter counter = counter();
            return counter == null ? plan : count(root, counter);
        } catch (Exception e) {
            return plan;
        }
    }

    /** The counter of the micro-batch that is planned; null before the first watermark. */
    private static LateRowCounter counter() throws Exception {
        SparkContext context = SparkContext.getOrCreate();
        String query = context.getLocalProperty("sql.streaming.queryId");
        if (query == null) return null;
        SparkSession session = (SparkSession) SparkSession.active();
        Object stream = session.sharedState().activeStreamingQueries().get(UUID.fromString(query));
        Object batch = get(stream, "lastExecution");
        Object id = get(batch, "currentBatchId");
        if (!id.toString().equals(context.getLocalProperty("streaming.sql.batchId"))) return null;
        Object offsets;
        if (session.conf().get(ALL_OPERATORS, "true").equals("true")) {
            Option previous = (Option) get(batch, "prevOffsetSeqMetadata");
            if (previous.isEmpty()) return null;
            offsets = previous.get();
        } else {
            offsets = get(batch, "offsetSeqMetadata");
        }
        long watermark = ((Number) get(offsets, "batchWatermarkMs")).longValue();
        if (watermark <= 0) return null;
        return LateRowCounter.of(context, get(batch, "runId").toString(), ((Number) id).longValue(), watermark * 1000);
    }

    private static Object get(Object object, String name) throws Exception {
        Method method = object.getClass().getMethod(name, new Class[0]);
        method.setAccessible(true);
        return method.invoke(object, new Object[0]);
    }

    private static LogicalPlan count(LogicalPlan plan, LateRowCounter counter) {
        if (plan instanceof Aggregate && plan.isStreaming()) {
            LogicalPlan child = ((Aggregate) plan).child();
            Expression end = endOfGroup((Aggregate) plan);
            if (end != null && !isCounted(child) && !keepsState(child)) {
                LogicalPlan counted = new Filter(keep(counter, end), child);
                return (LogicalPlan) plan.withNewChildren(list(counted));
            }
        }
        List children = (List) Nil$.MODULE$;
        boolean isChanged = false;
        Iterator iterator = plan.children().iterator();
        while (iterator.hasNext()) {
            LogicalPlan child = (LogicalPlan) iterator.next();
            LogicalPlan counted = count(child, counter);
            isChanged |= counted != child;
            children = children.$colon$colon(counted);
        }
        return isChanged ? (LogicalPlan) plan.withNewChildren(children.reverse()) : plan;
    }

    /** The time after which Spark drops a group: the end of its window, or its event time; null if it drops none. */
    private static Expression endOfGroup(Aggregate aggregate) {
        Iterator keys = aggregate.groupingExpressions().iterator();
        while (keys.hasNext()) {
            Object key = keys.next();
            if (!(key instanceof NamedExpression) || !((NamedExpression) key).metadata().contains(WATERMARK)) continue;
            Expression time = key instanceof Alias ? ((Alias) key).child() : (Expression) key;
            if (time.dataType() instanceof StructType) time = new GetStructField(time, 1, (Option) None$.MODULE$);
            return new PreciseTimestampConversion(time, time.dataType(), DataTypes.LongType);
        }
        return null;
    }

    private static Expression keep(LateRowCounter counter, Expression end) {
        Expression never = new Literal(Long.valueOf(Long.MAX_VALUE), DataTypes.LongType);
        Expression time = new Coalesce(list(never).$colon$colon(end));
        Expression object = new Literal(counter, new ObjectType(LateRowCounter.class));
        List none = (List) Nil$.MODULE$;
        return new Invoke(object, "keep", DataTypes.BooleanType, list(time), none, false, false, false);
    }

    private static boolean isCounted(LogicalPlan plan) {
        if (!(plan instanceof Filter) || !(((Filter) plan).condition() instanceof Invoke)) return false;
        return ((Invoke) ((Filter) plan).condition()).functionName().equals("keep");
    }

    private static boolean keepsState(LogicalPlan plan) {
        if (!plan.isStreaming()) return false;
        String name = plan.nodeName();
        if (plan instanceof Aggregate || name.startsWith("Deduplicate") || name.indexOf("WithState") >= 0) return true;
        if (plan instanceof Join && ((Join) plan).left().isStreaming() && ((Join) plan).right().isStreaming()) return true;
        Iterator children = plan.children().iterator();
        while (children.hasNext()) if (keepsState((LogicalPlan) children.next())) return true;
        return false;
    }

    private static List list(Object element) {
        return ((List) Nil$.MODULE$).$colon$colon(element);
    }
}
