import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestOptions;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/**
 * Computes expressions in Flink: {@code FlinkValues inputs.json expressions.tsv values.tsv [zones]}.
 *
 * <p>Each line of expressions.tsv is a table of inputs.json and an expression. values.tsv has the form of flink_values.tsv.
 * The time zones are UTC and America/New_York, or those of the last argument. An expression that fails in a table of many
 * rows is computed in some of them only; the others are "unknown".
 */
public final class FlinkValues {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int QUERY = 50; // expressions per query
    private static final int ROWS = 10; // of an expression that fails
    private static final int THREADS = 4; // most of the time of a small query is waiting

    private static String[] zones = {"UTC", "America/New_York"};
    private static JsonNode inputs;
    private static Configuration cluster;
    private static final ThreadLocal<TableEnvironment> TABLES = ThreadLocal.withInitial(FlinkValues::createTables);

    public static void main(String[] arguments) throws Exception {
        inputs = JSON.readTree(Files.readString(Path.of(arguments[0])));
        if (arguments.length > 3) {
            zones = arguments[3].split(",");
        }
        Map<String, List<String>> expressions = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            if (!line.isBlank()) {
                String[] parts = line.split("\t", 2);
                expressions.computeIfAbsent(parts[0], k -> new ArrayList<>()).add(parts[1]);
            }
        }
        cluster = startCluster();
        ExecutorService threads = Executors.newFixedThreadPool(THREADS);
        List<Future<String>> outputs = new ArrayList<>();
        for (Map.Entry<String, List<String>> entry : expressions.entrySet()) {
            List<String> all = entry.getValue();
            for (int i = 0; i < all.size(); i += QUERY) {
                List<String> part = all.subList(i, Math.min(i + QUERY, all.size()));
                outputs.add(threads.submit(() -> compute(entry.getKey(), part)));
            }
        }
        try (BufferedWriter file = Files.newBufferedWriter(Path.of(arguments[2]))) {
            for (Future<String> output : outputs) {
                file.write(output.get());
                file.flush();
            }
        }
        System.exit(0);
    }

    /** Starts a cluster in this process. By default, Flink would start one per query, which takes seconds. */
    private static Configuration startCluster() throws Exception {
        Configuration configuration = new Configuration();
        configuration.set(RestOptions.PORT, 0);
        MiniCluster cluster = new MiniCluster(new MiniClusterConfiguration.Builder()
                .setConfiguration(configuration)
                .setNumTaskManagers(1)
                .setNumSlotsPerTaskManager(2 * THREADS)
                .build());
        cluster.start();
        URI address = cluster.getRestAddress().get();
        Configuration client = new Configuration();
        client.setString("execution.target", "remote");
        client.setString("parallelism.default", "1");
        client.set(RestOptions.ADDRESS, address.getHost());
        client.set(RestOptions.PORT, address.getPort());
        return client;
    }

    private static TableEnvironment createTables() {
        TableEnvironment tables = TableEnvironment.create(
                EnvironmentSettings.newInstance().inBatchMode().withConfiguration(cluster).build());
        for (Map.Entry<String, JsonNode> table : inputs.properties()) {
            createTable(tables, table.getKey(), table.getValue());
        }
        return tables;
    }

    private static void createTable(TableEnvironment tables, String name, JsonNode input) {
        try {
            Path file = Files.createTempFile("flink_values", ".json");
            List<String> rows = new ArrayList<>();
            input.get("rows").forEach(row -> rows.add(row.asText()));
            Files.write(file, rows);
            tables.executeSql("CREATE TEMPORARY TABLE `" + name + "` (rn INT, " + input.get("columns").asText()
                    + ") WITH ('connector' = 'filesystem', 'format' = 'json', 'path' = '" + file.toUri() + "')");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String compute(String table, List<String> expressions) throws Exception {
        TableEnvironment tables = TABLES.get();
        int rows = inputs.get(table).get("rows").size();
        StringBuilder output = new StringBuilder();
        List<String> valid = new ArrayList<>();
        Map<String, String> types = new HashMap<>();
        for (String expression : expressions) {
            try {
                types.put(expression, tables.sqlQuery("SELECT " + expression + " FROM `" + table + "`")
                        .getResolvedSchema().getColumnDataTypes().get(0).getLogicalType().copy(true).asSummaryString());
                valid.add(expression);
            } catch (Exception e) {
                output.append(table + "\tinvalid\t" + expression + "\t" + describe(e).replace("\n", " ") + "\t[]\n");
            }
        }
        List<Map<String, List<Object>>> byZone = new ArrayList<>();
        for (String zone : zones) {
            tables.getConfig().setLocalTimeZone(ZoneId.of(zone));
            Map<String, List<Object>> values = new HashMap<>();
            compute(tables, table, valid, rows, values);
            byZone.add(values);
        }
        for (String expression : valid) {
            String first = JSON.writeValueAsString(byZone.get(0).get(expression));
            String last = JSON.writeValueAsString(byZone.get(zones.length - 1).get(expression));
            boolean same = first.equals(last);
            String end = "\t" + expression + "\t" + types.get(expression) + "\t";
            output.append(table + "\t" + (same ? "any" : zones[0]) + end + first + "\n");
            output.append(same ? "" : table + "\t" + zones[1] + end + last + "\n");
        }
        return output.toString();
    }

    private static void compute(TableEnvironment tables, String table, List<String> expressions, int rows,
            Map<String, List<Object>> values) {
        if (expressions.isEmpty()) {
            return;
        }
        try {
            List<List<Object>> columns = query(tables, table, expressions, "", rows);
            for (int i = 0; i < expressions.size(); i++) {
                values.put(expressions.get(i), columns.get(i));
            }
        } catch (Exception e) {
            if (expressions.size() > 1) {
                int half = expressions.size() / 2;
                compute(tables, table, expressions.subList(0, half), rows, values);
                compute(tables, table, expressions.subList(half, expressions.size()), rows, values);
                return;
            }
            values.put(expressions.get(0), computeEachRow(tables, table, expressions, rows));
        }
    }

    private static List<Object> computeEachRow(TableEnvironment tables, String table, List<String> expressions, int rows) {
        List<Object> values = new ArrayList<>();
        int step = (rows + ROWS - 1) / ROWS;
        for (int row = 1; row <= rows; row++) {
            if ((row - 1) % step != 0) {
                values.add(Map.of("error", "unknown"));
                continue;
            }
            try {
                values.add(query(tables, table, expressions, " WHERE rn = " + row, 1).get(0).get(0));
            } catch (Exception e) {
                values.add(Map.of("error", describe(e)));
            }
        }
        return values;
    }

    private static List<List<Object>> query(
            TableEnvironment tables, String table, List<String> expressions, String where, int rows) throws Exception {
        List<List<Object>> columns = new ArrayList<>();
        expressions.forEach(e -> columns.add(new ArrayList<>(java.util.Collections.nCopies(rows, null))));
        StringBuilder sql = new StringBuilder("SELECT rn");
        for (int i = 0; i < expressions.size(); i++) {
            sql.append(", ").append(expressions.get(i)).append(" AS c").append(i);
        }
        try (CloseableIterator<Row> results =
                tables.executeSql(sql + " FROM `" + table + "`" + where).collect()) {
            while (results.hasNext()) {
                Row row = results.next();
                int index = where.isEmpty() ? row.<Integer>getFieldAs(0) - 1 : 0;
                for (int i = 0; i < expressions.size(); i++) {
                    columns.get(i).set(index, toJson(row.getField(i + 1)));
                }
            }
        }
        return columns;
    }

    private static String describe(Throwable e) {
        while (e.getCause() != null) {
            e = e.getCause();
        }
        String text = String.valueOf(e);
        return text.length() > 200 ? text.substring(0, 200) : text;
    }

    private static Object toJson(Object value) {
        if (value instanceof Row row) {
            List<Object> fields = new ArrayList<>();
            for (int i = 0; i < row.getArity(); i++) {
                fields.add(toJson(row.getField(i)));
            }
            return fields;
        }
        if (value instanceof Map<?, ?> map) {
            List<Object> pairs = new ArrayList<>();
            map.forEach((k, v) -> pairs.add(java.util.Arrays.asList(toJson(k), toJson(v))));
            return pairs;
        }
        if (value instanceof byte[] bytes) {
            return java.util.HexFormat.of().formatHex(bytes);
        }
        if (value instanceof Object[] array) {
            List<Object> elements = new ArrayList<>();
            for (Object element : array) {
                elements.add(toJson(element));
            }
            return elements;
        }
        if (value instanceof LocalDateTime time) {
            return time.toLocalDate() + " " + format(time.toLocalTime());
        }
        if (value instanceof Instant instant) {
            LocalDateTime time = LocalDateTime.ofInstant(instant, ZoneOffset.UTC);
            return time.toLocalDate() + " " + format(time.toLocalTime()) + "Z";
        }
        if (value instanceof LocalTime time) {
            return format(time);
        }
        if (value instanceof java.math.BigDecimal number) {
            return number.toPlainString();
        }
        return value == null ? null : value.toString();
    }

    private static String format(LocalTime time) {
        String text = time.format(DateTimeFormatter.ofPattern("HH:mm:ss"));
        String fraction = String.format("%09d", time.getNano()).replaceAll("0+$", "");
        return fraction.isEmpty() ? text : text + "." + fraction;
    }
}
