package io.github.kafkasql.realtime;

import java.io.Serializable;

/** The options of the json format. */
public final class JsonRules implements Serializable {
    final boolean failOnMissing;
    final boolean ignoreErrors;
    final String standard;
    final String missingOption;
    final boolean asDecimals;
    final boolean plainDecimals;
    final boolean skipNulls;

    public JsonRules(
        boolean failOnMissing,
        boolean ignoreErrors,
        String standard,
        String missingOption,
        boolean asDecimals,
        boolean plainDecimals,
        boolean skipNulls) {
        this.failOnMissing = failOnMissing;
        this.ignoreErrors = ignoreErrors;
        this.standard = standard;
        this.missingOption = missingOption;
        this.asDecimals = asDecimals;
        this.plainDecimals = plainDecimals;
        this.skipNulls = skipNulls;
    }
}
