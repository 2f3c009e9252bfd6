package io.github.kafkasql.extension;

import org.apache.spark.SparkConf;
import org.apache.spark.SparkEnv;
import org.apache.spark.sql.SparkSessionExtensions;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The extension for {@code spark.sql.extensions=io.github.kafkasql.extension.Extensions}: puts {@link Statements} before
 * Spark's parser.
 */
public final class Extensions extends AbstractFunction1<SparkSessionExtensions, BoxedUnit> {
    @Override
    public BoxedUnit apply(SparkSessionExtensions extensions) {
        redact();
        extensions.injectParser(Statements::wrap);
        return BoxedUnit.UNIT;
    }

    /** Mask secrets in statements, which Spark's shells use as job descriptions in the UI and the event log. */
    private static void redact() {
        SparkEnv env = SparkEnv.get();
        if (env == null) return;
        SparkConf conf = env.conf();
        if (!conf.contains("spark.sql.redaction.string.regex") && !conf.contains("spark.redaction.string.regex"))
            conf.set("spark.sql.redaction.string.regex", Statements.readPattern("secrets.regex"));
    }
}
