package kafka_sql;

import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.trees.CurrentOrigin;
import scala.Option;
import scala.collection.immutable.Map;

/**
 * A statement that failed, in the words of kafka_sql or of what Python ran.
 *
 * <p>A ParseException, because that is all that a parser may throw and Spark's shells print it without a stack trace.
 */
public final class KafkaSqlException extends ParseException {
    private static final String FOREIGN_DATA_ERROR = "HV000"; // ISO/IEC 9075-9

    private final String words;
    private final String condition;
    private final String state;

    KafkaSqlException(String words) {
        this(words, null, FOREIGN_DATA_ERROR);
    }

    /** Spark's shells log a statement, secrets and all, that fails of what is no SparkThrowable: so wrap those, too. */
    KafkaSqlException(Throwable of) {
        this(
            of.getMessage() == null ? of.toString() : of.getMessage(),
            of instanceof SparkThrowable ? ((SparkThrowable) of).getCondition() : null,
            of instanceof SparkThrowable ? ((SparkThrowable) of).getSqlState() : null);
        setStackTrace(of.getStackTrace());
    }

    private KafkaSqlException(String words, String condition, String state) {
        super(Option.empty(), CurrentOrigin.get(), "INTERNAL_ERROR", new Map.Map1("message", words));
        this.words = words;
        this.condition = condition;
        this.state = state;
    }

    public String getMessage() {
        return words;
    }

    /** Spark's, if it is one of Spark's errors; ours stand in the message. */
    public String getCondition() {
        return condition;
    }

    /** The shells print a stack trace where this is null. */
    public String getSqlState() {
        return state;
    }

    public boolean isInternalError() {
        return false;
    }

    public String toString() {
        return words;
    }
}
