package io.github.kafkasql.extension;

import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.math.BigInteger;
import java.net.InetAddress;
import java.security.SecureRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.BiFunction;
import javax.net.SocketFactory;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.SparkSession;
import py4j.JavaServer;
import py4j.Py4JException;
import py4j.PythonClient;

/**
 * The Python process of this JVM, which executes statements and is attached by Py4J, as PySpark is.
 *
 * <p>Py4J pins each Python thread to a Java thread: Python's calls to Spark for a statement run on the thread that the
 * statement came on, with that thread's session, job group and settings.
 */
public final class Python {
    /** Without modules in the current folder, which -m and -c would import first. */
    private static final String PROGRAM =
        "import sys; sys.path[:] = filter(None, sys.path); from kafka_sql.extension.attach import attach; attach()";

    private static volatile Python running;

    private final JavaSparkContext context;
    private final CompletableFuture<BiFunction<SparkSession, String, Object>> attached = new CompletableFuture<>();
    private final String command;
    private final Process process;

    private Python(SparkSession session) throws KafkaSqlException {
        context = JavaSparkContext.fromSparkContext(session.sparkContext());
        SparkConf conf = session.sparkContext().conf();
        String worker = conf.get("spark.pyspark.python", System.getenv("PYSPARK_PYTHON"));
        String driver = conf.get("spark.pyspark.driver.python", System.getenv("PYSPARK_DRIVER_PYTHON"));
        command = driver != null ? driver : worker != null ? worker : "python3";
        String secret = new BigInteger(256, new SecureRandom()).toString(16);
        ProcessBuilder builder = new ProcessBuilder(command, "-c", PROGRAM);
        builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        builder.environment().put("PYSPARK_GATEWAY_PORT", String.valueOf(serve(secret)));
        builder.environment().put("PYSPARK_GATEWAY_SECRET", secret); // not an argument, which other users could see
        builder.environment().put("PYSPARK_PIN_THREAD", "true");
        if (worker != null) builder.environment().put("PYSPARK_PYTHON", worker);
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new KafkaSqlException("[PYTHON_NOT_STARTED] " + e.getMessage() + ". " + advice());
        }
    }

    static boolean isRunning() {
        return running != null;
    }

    /** Return the running process; start one if there is none or it has ended. */
    static synchronized Python running(SparkSession session) throws KafkaSqlException, InterruptedException {
        if (running == null || !running.process.isAlive()) {
            Python python = new Python(session);
            python.awaitAttached();
            python.endWithThisJvm();
            running = python;
        }
        return running;
    }

    /**
     * Execute a statement in Python. Return a Dataset, null if Spark is to run the statement itself, or the error as a
     * String or a Throwable.
     */
    Object run(SparkSession session, String text) throws KafkaSqlException, InterruptedException {
        try {
            return attached.join().apply(session, text);
        } catch (Py4JException e) {
            throw process.waitFor(2, TimeUnit.SECONDS) ? endedException() : new KafkaSqlException(e);
        }
    }

    KafkaSqlException endedException() {
        return new KafkaSqlException(
            "[PYTHON_ENDED] The Python process of kafka_sql ended with exit code " + process.exitValue()
            + ". The next statement starts a new process, which has only the tables of 'spark.kafka_sql.catalog'. DROP "
            + "and CREATE the other tables again.");
    }

    /** Called by Python: the context to attach to. */
    public JavaSparkContext context() {
        return context;
    }

    /** Called by Python when it is ready to execute statements. */
    public void attach(BiFunction<SparkSession, String, Object> statements) {
        attached.complete(statements);
    }

    /** Called by Python if it cannot attach. */
    public void refuse(String message) {
        attached.completeExceptionally(new KafkaSqlException(message));
    }

    /** Start Py4J's server, and return its port. */
    private int serve(String secret) {
        var client = new PythonClient(
            null, null, 0, InetAddress.getLoopbackAddress(), 30, TimeUnit.SECONDS, SocketFactory.getDefault(), null, true,
            0, secret);
        var server = new JavaServer(this, 0, 0, 0, null, client, secret);
        client.setGateway(server.getGateway());
        client.setJavaServer(server);
        Thread daemon = new Thread(() -> server.start(true), "kafka_sql-gateway"); // its threads are daemons, too
        daemon.setDaemon(true);
        daemon.start();
        try {
            daemon.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return server.getListeningPort();
    }

    private void awaitAttached() throws KafkaSqlException, InterruptedException {
        try {
            CompletableFuture.anyOf(attached, process.onExit()).get();
        } catch (ExecutionException e) {
            process.destroy();
            throw (KafkaSqlException) e.getCause();
        }
        if (!attached.isDone())
            throw new KafkaSqlException(
                "[PYTHON_NOT_STARTED] The Python process of kafka_sql, '" + command + "', ended with exit code "
                + process.exitValue() + ". Its output is above or in the log. " + advice());
    }

    /** End Python before this JVM ends. (If the JVM is killed, Python notices the end of its stdin.) */
    private void endWithThisJvm() {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            process.destroy();
            process.onExit().completeOnTimeout(process, 5, TimeUnit.SECONDS)
                .join(); // before its connections break, which it would log as errors
        }, "kafka_sql-end"));
    }

    private static String advice() {
        return "Set PYSPARK_PYTHON to a Python that has kafka_sql installed.";
    }
}
