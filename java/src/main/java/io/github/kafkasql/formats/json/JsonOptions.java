package io.github.kafkasql.formats.json;

import io.github.kafkasql.formats.PayloadParser;
import io.github.kafkasql.formats.TimestampStandard;
import java.io.Serializable;

/**
 * The options of the json format.
 *
 * @param missingOption the key of 'fail-on-missing-field' in WITH
 * @param hasDecimals whether the table has a DECIMAL column
 */
public record JsonOptions(
    boolean failOnMissing,
    boolean ignoreErrors,
    TimestampStandard standard,
    String missingOption,
    boolean hasDecimals,
    boolean plainDecimals,
    boolean skipNulls) implements Serializable {

    /** Returns the options in a JSON object, with names in snake case. */
    public static JsonOptions parse(String json) {
        return PayloadParser.parseOptions(json, JsonOptions.class);
    }
}
