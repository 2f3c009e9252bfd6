package io.github.kafkasql.catalog;

import io.github.kafkasql.functions.Functions;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException;
import org.apache.spark.sql.catalyst.analysis.NoSuchNamespaceException;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.FunctionCatalog;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.execution.datasources.DataSource;
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog;
import org.apache.spark.sql.internal.SessionState;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The functions of computed columns, and the data sources of Kafka tables in the session catalog, for sessions whose session catalog is not Spark's own, such
 * as Delta's.
 *
 * <p>In these sessions, Spark's V2SessionCatalog loads all tables as V1 tables, which cannot be Python data sources.
 * This catalog finds the same tables and loads them as V2 tables. It also creates them: Delta Lake 4.4 cannot create
 * tables of other V2 sources in Spark 4.2. Statements that drop tables do not use it.
 */
public final class SourceCatalog implements TableCatalog, FunctionCatalog {
    private String name;

    @Override
    public void initialize(String name, CaseInsensitiveStringMap options) {
        this.name = name;
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    public Table loadTable(Identifier identifier) throws NoSuchTableException {
        SessionState state = sessionState();
        CatalogTable table = find(state.catalog(), identifier);
        if (table.provider().isEmpty() || !table.provider().get().startsWith("kafka."))
            throw new NoSuchTableException(identifier);
        TableProvider provider = DataSource.lookupDataSourceV2(table.provider().get(), state.conf()).get();
        return provider.getTable(table.schema(), new Transform[0], CollectionConverters.asJava(table.properties()));
    }

    @Override
    public Table createTable(Identifier identifier, TableInfo info)
        throws TableAlreadyExistsException, NoSuchNamespaceException {
        return new V2SessionCatalog(sessionState().catalog()).createTable(identifier, info);
    }

    @SuppressWarnings("resource") // the session is Spark's
    private static SessionState sessionState() {
        return SparkSession.active().sessionState();
    }

    private static CatalogTable find(SessionCatalog tables, Identifier identifier) throws NoSuchTableException {
        if (identifier.namespace().length != 1) throw new NoSuchTableException(identifier);
        try {
            return tables.getTableMetadata(
                new TableIdentifier(identifier.name(), Option.apply(identifier.namespace()[0])));
        } catch (NoSuchNamespaceException e) {
            var missing = new NoSuchTableException(identifier);
            missing.addSuppressed(e);
            throw missing;
        }
    }

    @Override
    public UnboundFunction loadFunction(Identifier identifier) throws NoSuchFunctionException {
        UnboundFunction function = Functions.find(identifier.name());
        if (function == null) throw new NoSuchFunctionException(identifier);
        return function;
    }

    @Override
    public Identifier[] listFunctions(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public Identifier[] listTables(String[] namespace) {
        return new Identifier[0];
    }

    @Override
    public Table alterTable(Identifier identifier, TableChange... changes) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean dropTable(Identifier identifier) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void renameTable(Identifier from, Identifier to) {
        throw new UnsupportedOperationException();
    }
}
