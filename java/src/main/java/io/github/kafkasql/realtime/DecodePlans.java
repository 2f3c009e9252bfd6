package io.github.kafkasql.realtime;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.rpc.RpcCallContext;
import org.apache.spark.rpc.RpcEndpoint;
import org.apache.spark.rpc.RpcEndpointRef;
import org.apache.spark.rpc.RpcEnv;
import org.apache.spark.util.RpcUtils;
import scala.Function1;
import scala.PartialFunction;
import scala.reflect.ClassTag$;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Requests decode plans of schemas from the driver's Python process, which knows how to reach the registry. Executors
 * in other processes send requests by Spark's RPC, and so never have the registry's credentials.
 */
public final class DecodePlans {
    private static final String ENDPOINT = "kafka-sql-decode-plans";
    private static final ConcurrentHashMap FUNCTIONS = new ConcurrentHashMap(); // by table; on the driver only
    private static RpcEnv listening;

    /** Adds a function of Python that returns the plan of a schema id, as JSON. Called on the driver. */
    public static synchronized void add(String table, Function plans) {
        FUNCTIONS.put(table, plans);
        RpcEnv current = (RpcEnv) ofSpark("rpcEnv", RpcEnv.class);
        if (current != listening) {
            current.setupEndpoint(ENDPOINT, new Endpoint(current));
            listening = current;
        }
    }

    /** Returns the answer, a JSON object. */
    static Map request(String table, String schemaId) {
        Function plans = (Function) FUNCTIONS.get(table);
        String text = plans != null ? (String) plans.apply(schemaId) : requestFromDriver(table + " " + schemaId);
        Map answer = PlanTables.parse(text);
        Object error = answer.get("error");
        if (error != null) throw new RuntimeException((String) error);
        return answer;
    }

    private static String requestFromDriver(String message) {
        SparkConf conf = (SparkConf) ofSpark("conf", SparkConf.class);
        RpcEnv rpcEnv = (RpcEnv) ofSpark("rpcEnv", RpcEnv.class);
        RpcEndpointRef driver = RpcUtils.makeDriverRef(ENDPOINT, conf, rpcEnv);
        return (String) driver.askSync(message, ClassTag$.MODULE$.apply(String.class));
    }

    /** Returns a part of this process's SparkEnv. Janino cannot call its methods: some use classes that are missing. */
    private static Object ofSpark(String name, Class type) {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            Object env =
                lookup.findStatic(SparkEnv.class, "get", MethodType.methodType(SparkEnv.class))
                    .invokeWithArguments(new Object[0]);
            return lookup.findVirtual(SparkEnv.class, name, MethodType.methodType(type))
                .invokeWithArguments(new Object[] {env});
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Endpoint implements RpcEndpoint {
        private final RpcEnv rpcEnv;

        Endpoint(RpcEnv rpcEnv) {
            this.rpcEnv = rpcEnv;
        }

        public RpcEnv rpcEnv() {
            return rpcEnv;
        }

        public PartialFunction receiveAndReply(RpcCallContext context) {
            return new Reply(context);
        }
    }

    private static final class Reply extends AbstractPartialFunction {
        private final RpcCallContext context;

        Reply(RpcCallContext context) {
            this.context = context;
        }

        public boolean isDefinedAt(Object message) {
            return message instanceof String;
        }

        public Object applyOrElse(Object message, Function1 orElse) {
            final String[] parts = ((String) message).split(" ", 2);
            Thread thread = new Thread("kafka-sql-decode-plan") { // a registry may take its time
                public void run() {
                    try {
                        context.reply(((Function) FUNCTIONS.get(parts[0])).apply(parts[1]));
                    } catch (Throwable e) {
                        context.sendFailure(e);
                    }
                }
            };
            thread.setDaemon(true);
            thread.start();
            return BoxedUnit.UNIT;
        }
    }

    private DecodePlans() {}
}
