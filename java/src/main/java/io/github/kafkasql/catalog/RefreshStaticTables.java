package io.github.kafkasql.catalog;

import io.github.kafkasql.Seqs;
import java.lang.reflect.Field;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import scala.collection.Iterator;
import scala.collection.immutable.Seq;

/**
 * Makes each micro-batch of a stream read the tables that it joins as they are when the micro-batch is planned.
 *
 * <p>Spark plans each micro-batch separately, but keeps the input partitions of a Python data source and the files of a table
 * for the life of a query. This strategy plans nothing: it drops what Spark keeps, the first time that a table appears
 * in the plan of a micro-batch.
 */
public final class RefreshStaticTables extends SparkStrategy {
    private static final String BATCH = "streaming.sql.batchId";
    private static final String RUN = "spark.jobGroup.id";

    private final transient Field source; // of a PythonTable, which has no method that returns it

    // each query plans on its own thread
    private final transient ThreadLocal<Batch> current = new ThreadLocal<>();

    /** A query and its micro-batch, and what was refreshed for it. */
    private record Batch(String id, Set<Object> refreshed) {
        Batch(String id) {
            this(id, Collections.newSetFromMap(new IdentityHashMap<>()));
        }
    }

    /** Fails if Spark's Python data sources differ from those that this class knows, so that no query starts with it. */
    public RefreshStaticTables() throws ReflectiveOperationException {
        source = PythonTable.class.getDeclaredField("ds");
        source.setAccessible(true);
        if (source.getType() != PythonDataSourceV2.class) throw new NoSuchFieldException("PythonTable.ds");
    }

    @Override
    public Seq<SparkPlan> apply(LogicalPlan plan) {
        SparkContext context = SparkContext.getOrCreate();
        String batch = context.getLocalProperty(BATCH);
        if (batch != null) refresh(plan, refreshedFor(context.getLocalProperty(RUN) + " " + batch));
        return Seqs.of();
    }

    private Set<Object> refreshedFor(String batch) {
        if (current.get() == null || !current.get().id().equals(batch)) current.set(new Batch(batch));
        return current.get().refreshed();
    }

    private void refresh(LogicalPlan plan, Set<Object> refreshed) {
        if (plan instanceof DataSourceV2ScanRelation relation) {
            if (relation.relation().table() instanceof PythonTable table) {
                PythonDataSourceV2 python = sourceOf(table);
                if (refreshed.add(python)) python.setReadInfo(null);
            }
        } else if (plan instanceof LogicalRelation relation
                && relation.relation() instanceof HadoopFsRelation files && refreshed.add(files.location())) {
            files.location().refresh();
        }
        Iterator<LogicalPlan> children = plan.children().iterator();
        while (children.hasNext()) refresh(children.next(), refreshed);
    }

    private PythonDataSourceV2 sourceOf(PythonTable table) {
        try {
            return (PythonDataSourceV2) source.get(table);
        } catch (IllegalAccessException e) {
            throw new AssertionError(e); // the constructor made it accessible
        }
    }
}
