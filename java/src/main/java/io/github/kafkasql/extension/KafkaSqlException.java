package io.github.kafkasql.extension;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * The error of a failed statement, from kafka_sql or from Spark.
 *
 * <p>A ParseException, because a parser may throw no other, and because Spark's shells print it without a stack trace.
 */
public final class KafkaSqlException extends ParseException {
    private static final long serialVersionUID = 1;
    private static final Pattern POSITION = Pattern.compile("[(]line \\d+, pos \\d+[)]");
    private static final String FOREIGN_DATA_ERROR = "HV000"; // ISO/IEC 9075-9

    private final String message;
    private final String condition;
    private final String state;

    KafkaSqlException(String message) {
        this(message, null, FOREIGN_DATA_ERROR);
    }

    /** Wrap any error: if an error is no SparkThrowable, Spark's shells log the statement, including its secrets. */
    KafkaSqlException(Throwable cause) {
        this(
            cause.getMessage() == null ? cause.toString() : cause.getMessage(),
            cause instanceof SparkThrowable error ? error.getCondition() : null,
            cause instanceof SparkThrowable error ? error.getSqlState() : null);
        setStackTrace(cause.getStackTrace());
    }

    /** Replace a syntax error of Spark, whose message shows the statement and the token at the error. */
    KafkaSqlException(ParseException cause) {
        this(
            "[" + cause.getCondition() + "] Spark cannot parse the statement" + position(cause.getMessage())
            + ". Its options may contain secrets and are hidden.",
            cause.getCondition(),
            cause.getSqlState());
    }

    private static String position(String message) {
        Matcher position = POSITION.matcher(message);
        return position.find() ? " " + position.group() : "";
    }

    private KafkaSqlException(String message, String condition, String state) {
        super(Option.empty(), CurrentOrigin.get(), "INTERNAL_ERROR", new Map.Map1<>("message", message));
        this.message = message;
        this.condition = condition;
        this.state = state;
    }

    @Override
    public String getMessage() {
        return message;
    }

    /** The condition of a Spark error; the message of a kafka_sql error contains its condition. */
    @Override
    public String getCondition() {
        return condition;
    }

    /** Must not be null for kafka_sql errors: otherwise, the shells print a stack trace. */
    @Override
    public String getSqlState() {
        return state;
    }

    @Override
    public boolean isInternalError() {
        return false;
    }

    @Override
    public String toString() {
        return message;
    }
}
