import java.io.PrintStream;
import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.MappingIterator;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.runtime.typeutils.ExternalTypeInfo;
import org.apache.flink.table.types.AbstractDataType;
import org.apache.flink.table.types.DataType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.table.types.utils.TypeConversions;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/**
 * Runs queries in Flink's streaming mode over bounded tables with changes, and prints the content of each result.
 *
 * <p>Reads queries from standard input, {"id", "sql", "tables"}, and prints a JSON object per query when it is done: {"id",
 * "isInsertOnly", "rows": [[number, value...]]}, or {"id", "error"}. Tables stay for the queries that follow.
 */
public final class FlinkQueries {
    private static final int AT_ONCE = 3;
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ChangelogMode> MODES =
            Map.of("insert", ChangelogMode.insertOnly(), "upsert", ChangelogMode.upsert(), "retract", ChangelogMode.all());
    private static final Map<String, RowKind> KINDS =
            Map.of("+I", RowKind.INSERT, "-U", RowKind.UPDATE_BEFORE, "+U", RowKind.UPDATE_AFTER, "-D", RowKind.DELETE);

    private FlinkQueries() {}

    public static void main(String[] arguments) throws Exception {
        PrintStream results = System.out;
        System.setOut(System.err);
        Configuration settings = new Configuration();
        settings.setString("pipeline.auto-watermark-interval", "0 ms"); // a watermark after each row
        settings.setString("table.local-time-zone", "UTC");
        StreamExecutionEnvironment stream = StreamExecutionEnvironment.createLocalEnvironment(1, settings);
        StreamTableEnvironment tables = StreamTableEnvironment.create(stream);
        ExecutorService threads = Executors.newCachedThreadPool();
        Semaphore running = new Semaphore(AT_ONCE);
        MappingIterator<JsonNode> queries = JSON.readerFor(JsonNode.class).readValues(System.in);
        while (queries.hasNext()) {
            JsonNode query = queries.next();
            running.acquire();
            for (JsonNode table : query.path("tables")) { // stay until they are replaced
                addTable(stream, tables, table);
            }
            Map<String, Object> result = new LinkedHashMap<>(Map.of("id", query.get("id").asText()));
            try {
                TableResult rows = tables.executeSql(query.get("sql").asText()); // the planner belongs to this thread
                threads.submit(() -> {
                    addContent(result, rows);
                    results.println(JSON.writeValueAsString(result));
                    running.release();
                    return null; // a Callable may throw
                });
            } catch (Exception | LinkageError | AssertionError e) {
                result.put("error", message(e));
                results.println(JSON.writeValueAsString(result));
                running.release();
            }
        }
        threads.shutdown();
        threads.awaitTermination(1, TimeUnit.DAYS);
        System.exit(0);
    }

    private static void addTable(StreamExecutionEnvironment stream, StreamTableEnvironment tables, JsonNode table) {
        Schema.Builder schema = Schema.newBuilder();
        List<DataTypes.Field> fields = new ArrayList<>();
        List<LogicalType> types = new ArrayList<>();
        List<String> key = new ArrayList<>();
        table.get("key").forEach(name -> key.add(name.asText()));
        for (JsonNode column : table.get("columns")) {
            String name = column.get(0).asText();
            LogicalType type = LogicalTypeParser.parse(column.get(1).asText(), FlinkQueries.class.getClassLoader());
            DataType dataType = TypeConversions.fromLogicalToDataType(type.copy(!key.contains(name)));
            types.add(type);
            fields.add(DataTypes.FIELD(name, dataType));
            schema.column(name, (AbstractDataType<?>) dataType);
        }
        String mode = table.get("mode").asText();
        if (!key.isEmpty() && !mode.equals("insert")) {
            schema.primaryKey(key);
        }
        if (table.hasNonNull("watermark")) {
            schema.watermark(table.get("watermark").get(0).asText(), table.get("watermark").get(1).asText());
        }
        List<Row> rows = new ArrayList<>();
        for (JsonNode change : table.get("rows")) {
            Row row = new Row(KINDS.get(change.get(0).asText()), types.size());
            for (int i = 0; i < types.size(); i++) {
                row.setField(i, value(change.get(i + 1), types.get(i)));
            }
            rows.add(row);
        }
        TypeInformation<Row> information = ExternalTypeInfo.of(DataTypes.ROW(fields.toArray(new DataTypes.Field[0])).notNull());
        Table source = tables.fromChangelogStream(stream.fromData(rows, information), schema.build(), MODES.get(mode));
        tables.dropTemporaryView(table.get("name").asText());
        tables.createTemporaryView(table.get("name").asText(), source);
    }

    private static Object value(JsonNode value, LogicalType type) {
        if (value.isNull()) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case INTEGER:
                return value.intValue();
            case BIGINT:
                return value.longValue();
            case DOUBLE:
                return value.doubleValue();
            case BOOLEAN:
                return value.booleanValue();
            case DECIMAL:
                return new BigDecimal(value.asText());
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return LocalDateTime.parse(value.asText().replace(' ', 'T'));
            default:
                return value.asText();
        }
    }

    private static void addContent(Map<String, Object> result, TableResult running) {
        Map<List<Object>, Integer> content = new LinkedHashMap<>();
        boolean isInsertOnly = true;
        try (CloseableIterator<Row> rows = running.collect()) {
            while (rows.hasNext()) {
                Row row = rows.next();
                isInsertOnly &= row.getKind() == RowKind.INSERT;
                boolean isAdded = row.getKind() == RowKind.INSERT || row.getKind() == RowKind.UPDATE_AFTER;
                content.merge(values(row), isAdded ? 1 : -1, Integer::sum);
            }
        } catch (Exception | LinkageError | AssertionError e) {
            result.put("error", message(e));
            return;
        }
        List<List<Object>> counted = new ArrayList<>();
        content.forEach((values, number) -> {
            if (number != 0) {
                List<Object> line = new ArrayList<>(List.of(number));
                line.addAll(values);
                counted.add(line);
            }
        });
        result.put("isInsertOnly", isInsertOnly);
        result.put("rows", counted);
    }

    private static List<Object> values(Row row) {
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < row.getArity(); i++) {
            Object value = row.getField(i);
            if (value instanceof LocalDateTime) {
                value = DateTimeFormatter.ISO_LOCAL_DATE_TIME.format((LocalDateTime) value).replace('T', ' ');
            } else if (value != null && !(value instanceof Number) && !(value instanceof Boolean)) {
                value = String.valueOf(value);
            }
            values.add(value);
        }
        return values;
    }

    private static String message(Throwable error) {
        StringBuilder text = new StringBuilder();
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            text.append(text.length() == 0 ? "" : " <- ").append(cause);
        }
        return text.toString();
    }
}
