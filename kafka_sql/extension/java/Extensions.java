package kafka_sql;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * What {@code spark.sql.extensions=kafka_sql.Extensions} names: puts {@link Statements} before Spark's parser.
 *
 * <p>All of this package is the Java of 2004 where it can be, because Janino compiles it, which Spark brings along; and
 * it calls nothing that differs between Spark 4.1 and 4.3, so that one jar serves them all.
 */
public final class Extensions extends AbstractFunction1 {
    public Object apply(Object extensions) {
        redact();
        ((SparkSessionExtensions) extensions).injectParser(new AbstractFunction2() {
            public Object apply(Object session, Object parser) {
                return Statements.before((SparkSession) session, parser);
            }
        });
        return BoxedUnit.UNIT;
    }

    /** Spark's shells describe their jobs by the statement, in the UI and the event log: without its secrets. */
    private static void redact() {
        SparkEnv env = SparkEnv.get();
        if (env == null) return;
        SparkConf conf = env.conf();
        if (!conf.contains("spark.sql.redaction.string.regex") && !conf.contains("spark.redaction.string.regex"))
            conf.set("spark.sql.redaction.string.regex", secrets());
    }

    /** What kafka_sql takes for secrets, put into the jar when it was built. */
    private static String secrets() {
        InputStream pattern = Extensions.class.getResourceAsStream("secrets.regex");
        try {
            return new String(pattern.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
