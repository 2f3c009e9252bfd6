import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.TableResult;
import org.apache.flink.types.Row;
import org.apache.flink.util.CloseableIterator;

/** Runs Flink SQL and processes requests, one JSON object per line: {"do": "sql", "text": "..."}. */
public final class FlinkPeer {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] arguments) throws Exception {
        PrintStream responses = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
        System.setOut(System.err);
        EnvironmentSettings.Builder settings = EnvironmentSettings.newInstance();
        boolean isStreaming = arguments.length > 1 && arguments[1].equals("streaming");
        TableEnvironment tables =
                TableEnvironment.create((isStreaming ? settings.inStreamingMode() : settings.inBatchMode()).build());
        tables.getConfig().set("parallelism.default", arguments[0]);
        responses.println("@@ \"ready\"");
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            responses.println("@@ " + JSON.writeValueAsString(respond(tables, line)));
        }
        System.exit(0);
    }

    private static Map<String, Object> respond(TableEnvironment tables, String request) {
        try {
            String text = JSON.readTree(request).get("text").asText();
            long started = System.nanoTime();
            if (text.startsWith("SET ")) {
                String[] setting = text.substring(4).split(" = ", 2);
                tables.getConfig().set(setting[0], setting[1]);
                return Map.of("seconds", 0.0, "rows", List.of());
            }
            TableResult result = tables.executeSql(text);
            List<List<String>> rows = text.startsWith("SELECT") ? rows(result) : List.of();
            if (text.startsWith("INSERT")) {
                result.await();
            }
            return Map.of("seconds", (System.nanoTime() - started) / 1e9, "rows", rows);
        } catch (Exception e) {
            e.printStackTrace();
            return Map.of("error", String.valueOf(e));
        }
    }

    private static List<List<String>> rows(TableResult result) throws Exception {
        List<List<String>> rows = new ArrayList<>();
        try (CloseableIterator<Row> results = result.collect()) {
            while (results.hasNext()) {
                Row row = results.next();
                List<String> values = new ArrayList<>();
                for (int i = 0; i < row.getArity(); i++) {
                    values.add(String.valueOf(row.getField(i)));
                }
                rows.add(values);
            }
        }
        return rows;
    }
}
