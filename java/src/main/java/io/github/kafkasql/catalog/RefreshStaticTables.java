package io.github.kafkasql.catalog;

import java.lang.reflect.Field;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.SparkStrategy;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.python.PythonDataSourceV2;
import org.apache.spark.sql.execution.datasources.v2.python.PythonTable;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/**
 * Makes each micro-batch of a stream read the tables that it joins as they are when the micro-batch is planned.
 *
 * <p>Spark plans each micro-batch separately, but keeps the input partitions of a Python data source and the files of a table
 * for the life of a query. This strategy plans nothing: it drops what Spark keeps, the first time that a table appears
 * in the plan of a micro-batch.
 *
 * <p>It uses little beyond Java 1.4 because Spark's Janino compiles it, and no API that differs between Spark 4.1 and
 * 4.3.
 */
public final class RefreshStaticTables extends SparkStrategy {
    private static final String BATCH = "streaming.sql.batchId";
    private static final String RUN = "spark.jobGroup.id";

    // each query plans on its own thread: the query and micro-batch, and the tables refreshed for it
    private final ThreadLocal current = new ThreadLocal();

    public Seq apply(LogicalPlan plan) {
        SparkContext context = SparkContext.getOrCreate();
        String batch = context.getLocalProperty(BATCH);
        if (batch != null) refresh(plan, refreshedTables(context.getLocalProperty(RUN) + " " + batch));
        return (Seq) Nil$.MODULE$;
    }

    private Set refreshedTables(String batch) {
        Object[] state = (Object[]) current.get();
        if (state == null || !batch.equals(state[0])) {
            state = new Object[] {batch, Collections.newSetFromMap(new IdentityHashMap())};
            current.set(state);
        }
        return (Set) state[1];
    }

    private static void refresh(LogicalPlan plan, Set refreshed) {
        if (plan instanceof DataSourceV2ScanRelation) {
            Object table = ((DataSourceV2ScanRelation) plan).relation().table();
            if (table instanceof PythonTable) {
                PythonDataSourceV2 source = sourceOf((PythonTable) table);
                if (refreshed.add(source)) source.setReadInfo(null);
            }
        } else if (plan instanceof LogicalRelation) {
            Object relation = ((LogicalRelation) plan).relation();
            if (relation instanceof HadoopFsRelation && refreshed.add(((HadoopFsRelation) relation).location()))
                ((HadoopFsRelation) relation).location().refresh();
        }
        Iterator children = plan.children().iterator();
        while (children.hasNext()) refresh((LogicalPlan) children.next(), refreshed);
    }

    private static PythonDataSourceV2 sourceOf(PythonTable table) {
        try {
            Field field = PythonTable.class.getDeclaredField("ds");
            field.setAccessible(true);
            return (PythonDataSourceV2) field.get(table);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Spark's Python data sources have changed", e);
        }
    }
}
