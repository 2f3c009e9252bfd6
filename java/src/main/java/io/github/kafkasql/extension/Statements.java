package io.github.kafkasql.extension;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
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
    private static final Pattern STARTS_PYTHON = Pattern.compile(
        "(?:\\s++|--[^\\n]*+|/[*].*?[*]/)*+"
        + "(?:CREATE\\s.*\\bWITH\\s*[(]|(?:SET|RESET)\\s*'|(?:EXECUTE|BEGIN)\\s+STATEMENT\\b|(?:SHOW|STOP)\\s+JOB"
        + "|.*\\bread_kafka`?\\s*[(]).*",
        Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    private static final Pattern OPTIONS = Pattern.compile(Patterns.read("options.regex"));

    /** Set while Python uses the thread: the statements that it runs itself are for Spark. */
    private static final ThreadLocal IN_PYTHON = new ThreadLocal();

    private final SparkSession session;
    private final Object parser;
    private volatile Python last; // process of the last statement; null at first, and after an error of the process

    private Statements(SparkSession session, Object parser) {
        this.session = session;
        this.parser = parser;
    }

    static Object wrap(SparkSession session, Object parser) {
        return Proxy.newProxyInstance(
            Statements.class.getClassLoader(), new Class[] {ParserInterface.class}, new Statements(session, parser));
    }

    public Object invoke(Object proxy, Method method, Object[] args) throws Throwable {
        if (method.getName().startsWith("parsePlan") && IN_PYTHON.get() == null && isForPython((String) args[0])) {
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
        if (!(error instanceof ParseException) || !(args[0] instanceof String)) return error;
        return OPTIONS.matcher((String) args[0]).find() ? new KafkaSqlException((ParseException) error) : error;
    }

    private boolean isForPython(String text) {
        return Python.isRunning()
            || session.sparkContext().conf().contains("spark.kafka_sql.catalog")
            || STARTS_PYTHON.matcher(text).matches();
    }

    /** Execute a statement and return its plan, or null if Spark is to run the statement itself. */
    private Object plan(String text) throws Throwable {
        IN_PYTHON.set(Boolean.TRUE);
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
        if (result instanceof String) throw new KafkaSqlException((String) result);
        if (result instanceof ParseException) throw (ParseException) result;
        if (result instanceof Throwable) throw new KafkaSqlException((Throwable) result);
        return result == null ? null : ((Dataset) result).queryExecution().commandExecuted();
    }
}
