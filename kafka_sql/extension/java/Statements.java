package kafka_sql;

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
 * One session's parser: statements go by Python first, and to Spark's own parser if they are none of Python's.
 *
 * <p>A proxy, because Spark's ParserInterface has other methods in each version. {@code parseQuery} is left alone:
 * Spark reads the texts of views with it.
 */
public final class Statements implements InvocationHandler {
    /** A statement that can be the first of ours. Once Python runs, it sees all of them, as it knows the tables. */
    private static final Pattern OURS = Pattern.compile(
        "(?:\\s++|--[^\\n]*+|/[*].*?[*]/)*+"
        + "(?:CREATE\\s.*\\bWITH\\s*[(]|(?:SET|RESET)\\s*'|(?:EXECUTE|BEGIN)\\s+STATEMENT\\b|(?:SHOW|STOP)\\s+JOB).*",
        Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

    /** Set where Python has the thread, whose own statements are Spark's. */
    private static final ThreadLocal IN_PYTHON = new ThreadLocal();

    private final SparkSession session;
    private final Object parser;
    private volatile Python used; // by the last statement; null before the first, and after one that failed with it

    private Statements(SparkSession session, Object parser) {
        this.session = session;
        this.parser = parser;
    }

    static Object before(SparkSession session, Object parser) {
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
            throw e.getTargetException();
        }
    }

    private boolean isForPython(String text) {
        return Python.isRunning()
            || session.sparkContext().conf().contains("spark.kafka_sql.catalog")
            || OURS.matcher(text).matches();
    }

    /** The plan of a statement that has been carried out, or null if it is Spark's own. */
    private Object plan(String text) throws Throwable {
        IN_PYTHON.set(Boolean.TRUE);
        Object result;
        try {
            Python before = used;
            used = null;
            Python python = Python.running(session);
            if (before != null && before != python) throw before.ended(); // this session may miss tables: say so once
            result = python.run(session, text);
            used = python;
        } finally {
            IN_PYTHON.remove();
        }
        if (result instanceof String) throw new KafkaSqlException((String) result);
        if (result instanceof ParseException) throw (ParseException) result;
        if (result instanceof Throwable) throw new KafkaSqlException((Throwable) result);
        return result == null ? null : ((Dataset) result).queryExecution().commandExecuted();
    }
}
