package io.github.kafkasql.extension;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.util.regex.Pattern;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.classic.Dataset;

/**
 * A session's parser: passes statements to Python first, and to Spark's parser if Python does not handle them.
 *
 * <p>A dynamic proxy, because the methods of Spark's ParserInterface differ between versions. {@code parseQuery} goes
 * to Spark directly: Spark parses view definitions with it.
 */
public final class Statements implements InvocationHandler {
    /** Statements that start Python. Once Python runs, it gets all statements, because any may name a Kafka table. */
    private static final Pattern STARTS_PYTHON =
        Pattern.compile(readPattern("starts_python.regex"), Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private static final Pattern OPTIONS = Pattern.compile(readPattern("secrets.regex"));

    /** Set while Python uses the thread: the statements that it runs itself are for Spark. */
    private static final ThreadLocal<Boolean> IN_PYTHON = ThreadLocal.withInitial(() -> false);

    private final SparkSession session;
    private final ParserInterface parser;
    private volatile Python last; // process of the last statement; null at first, and after an error of the process

    private Statements(SparkSession session, ParserInterface parser) {
        this.session = session;
        this.parser = parser;
    }

    static ParserInterface wrap(SparkSession session, ParserInterface parser) {
        return (ParserInterface) Proxy.newProxyInstance(
            Statements.class.getClassLoader(), new Class<?>[] {ParserInterface.class}, new Statements(session, parser));
    }

    /** Return a regular expression that tools/build_jar.py put into the jar. */
    static String readPattern(String name) {
        try (InputStream pattern = Statements.class.getResourceAsStream(name)) {
            return new String(pattern.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
        if (method.getName().startsWith("parsePlan") && !IN_PYTHON.get() && isForPython((String) args[0])) {
            Object plan = plan((String) args[0]);
            if (plan != null) return plan;
        }
        try {
            return method.invoke(parser, args);
        } catch (InvocationTargetException e) {
            throw hideOptions(e.getTargetException(), args);
        }
    }

    /** Spark's syntax errors quote the statement. Return one without the statement if that has options. */
    private static Throwable hideOptions(Throwable error, Object[] args) {
        return error instanceof ParseException syntax && args[0] instanceof String text && OPTIONS.matcher(text).find()
            ? new KafkaSqlException(syntax) : error;
    }

    private boolean isForPython(String text) {
        return Python.isRunning()
            || session.sparkContext().conf().contains("spark.kafka_sql.catalog")
            || STARTS_PYTHON.matcher(text).matches();
    }

    /** Execute a statement and return its plan, or null if Spark is to run the statement itself. */
    private Object plan(String text) throws Throwable {
        IN_PYTHON.set(true);
        Object result;
        try {
            Python previous = last;
            last = null;
            Python python = Python.running(session);
            // this session may have lost tables: report it once
            if (previous != null && previous != python) throw previous.endedException();
            result = python.run(session, text);
            last = python;
        } finally {
            IN_PYTHON.remove();
        }
        if (result instanceof String message) throw new KafkaSqlException(message);
        if (result instanceof ParseException error) throw error;
        if (result instanceof Throwable error) throw new KafkaSqlException(error);
        return result instanceof Dataset<?> rows ? rows.queryExecution().commandExecuted() : null;
    }
}
