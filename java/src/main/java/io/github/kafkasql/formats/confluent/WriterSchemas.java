package io.github.kafkasql.formats.confluent;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.util.RpcUtils;
import scala.PartialFunction;
import scala.reflect.ClassTag$;
import scala.runtime.BoxedUnit;

/**
 * Requests the schemas that records were written with from the driver's Python process, which knows how to reach the
 * registry. Executors in other processes send requests by Spark's RPC, and so never have the registry's credentials.
 */
public final class WriterSchemas {
    private static final String ENDPOINT = "kafka-sql-writer-schemas";
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, Function<String, String>> FUNCTIONS = new ConcurrentHashMap<>(); // on the driver
    private static RpcEnv listening;

    /**
     * Adds a function of Python that returns a schema, as JSON. Called on the driver when a query starts.
     *
     * <p>Sends a request as executors do. So the query fails here, not in a task, if Spark does not have the methods.
     */
    public static synchronized void add(String table, Function<String, String> schemas) {
        FUNCTIONS.put(table, schemas);
        RpcEnv current = SparkEnv.get().rpcEnv();
        if (current == listening) return;
        current.setupEndpoint(ENDPOINT, new Endpoint(current));
        requestFromDriver("");
        listening = current;
    }

    /** Returns the answer: a schema, or the reason that the schema cannot be read. */
    static JsonNode request(String table, String schema) {
        Function<String, String> schemas = FUNCTIONS.get(table);
        JsonNode answer = parse(schemas != null ? schemas.apply(schema) : requestFromDriver(table + " " + schema));
        if (answer.has("error")) throw new RuntimeException(answer.get("error").textValue());
        return answer;
    }

    private static JsonNode parse(String text) {
        try {
            return JSON.readTree(text);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String requestFromDriver(String message) {
        SparkEnv env = SparkEnv.get();
        RpcEndpointRef driver = RpcUtils.makeDriverRef(ENDPOINT, env.conf(), env.rpcEnv());
        return driver.askSync(message, ClassTag$.MODULE$.apply(String.class));
    }

    /** The driver's endpoint. Answers in a thread, because a registry may take its time. */
    private record Endpoint(RpcEnv rpcEnv) implements RpcEndpoint {
        @Override
        public PartialFunction<Object, BoxedUnit> receiveAndReply(RpcCallContext context) {
            return PartialFunction.fromFunction(message -> {
                Thread thread = new Thread(() -> reply((String) message, context), ENDPOINT);
                thread.setDaemon(true);
                thread.start();
                return BoxedUnit.UNIT;
            });
        }

        private static void reply(String message, RpcCallContext context) {
            String[] parts = message.split(" ", 2); // the table and the schema; none to check the endpoint
            try {
                context.reply(parts.length < 2 ? message : FUNCTIONS.get(parts[0]).apply(parts[1]));
            } catch (RuntimeException e) {
                context.sendFailure(e);
            }
        }
    }

    private WriterSchemas() {}
}
