package io.github.kafkasql.extension;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractFunction2;
import scala.runtime.BoxedUnit;

/**
 * The extension for {@code spark.sql.extensions=io.github.kafkasql.extension.Extensions}: puts {@link Statements} before Spark's parser.
 *
 * <p>This package uses little beyond Java 1.4 (no generics or lambdas) because Spark's Janino compiles it, and no API
 * that differs between Spark 4.1 and 4.3, so that one jar works with all of them.
 */
public final class Extensions extends AbstractFunction1 {
    public Object apply(Object extensions) {
        redact();
        ((SparkSessionExtensions) extensions).injectParser(new AbstractFunction2() {
            public Object apply(Object session, Object parser) {
                return Statements.wrap((SparkSession) session, parser);
            }
        });
        return BoxedUnit.UNIT;
    }

    /** Mask secrets in statements, which Spark's shells use as job descriptions in the UI and the event log. */
    private static void redact() {
        SparkEnv env = SparkEnv.get();
        if (env == null) return;
        SparkConf conf = env.conf();
        if (!conf.contains("spark.sql.redaction.string.regex") && !conf.contains("spark.redaction.string.regex"))
            conf.set("spark.sql.redaction.string.regex", Patterns.read("secrets.regex"));
    }
}
