package io.github.kafkasql.formats.csv;

import com.fasterxml.jackson.core.StreamWriteFeature;
import com.fasterxml.jackson.dataformat.csv.CsvFactory;
import com.fasterxml.jackson.dataformat.csv.CsvParser;
import com.fasterxml.jackson.dataformat.csv.CsvSchema;
import io.github.kafkasql.formats.PayloadParser;
import java.io.Serializable;
import org.apache.spark.sql.types.*;

/** The options of the csv format. If {@code quote} or {@code escape} is empty, there is no such character. */
public record CsvOptions(
    String separator,
    String elementSeparator,
    String quote,
    String escape,
    String nullLiteral,
    boolean trimSpaces,
    boolean allowComments,
    boolean ignoreErrors,
    boolean ignoreExtra,
    boolean allowTrailingComma,
    boolean failOnMissing,
    boolean emptyStringAsNull,
    boolean plainDecimals) implements Serializable {

    /** Returns the options in a JSON object, with names in snake case. */
    public static CsvOptions parse(String json) {
        return PayloadParser.parseOptions(json, CsvOptions.class);
    }

    /** Returns the columns; those with elements or fields are lists. */
    CsvSchema schema(StructType type) {
        CsvSchema.Builder schema =
            CsvSchema.builder()
                .setColumnSeparator(separator.charAt(0))
                .setArrayElementSeparator(elementSeparator)
                .setAllowComments(allowComments)
                .setLineSeparator("");
        if (quote.isEmpty()) schema.disableQuoteChar();
        else schema.setQuoteChar(quote.charAt(0));
        if (!escape.isEmpty()) schema.setEscapeChar(escape.charAt(0));
        if (nullLiteral != null) schema.setNullValue(nullLiteral);
        for (StructField field : type.fields()) {
            boolean isList = field.dataType() instanceof ArrayType || field.dataType() instanceof StructType;
            schema.addColumn(field.name(), isList ? CsvSchema.ColumnType.ARRAY : CsvSchema.ColumnType.STRING);
        }
        return schema.build();
    }

    CsvFactory factory() {
        return CsvFactory.builder()
            .streamReadConstraints(PayloadParser.CONSTRAINTS)
            .configure(StreamWriteFeature.WRITE_BIGDECIMAL_AS_PLAIN, plainDecimals)
            .configure(CsvParser.Feature.TRIM_SPACES, trimSpaces)
            .configure(CsvParser.Feature.IGNORE_TRAILING_UNMAPPABLE, ignoreExtra)
            .configure(CsvParser.Feature.ALLOW_TRAILING_COMMA, allowTrailingComma)
            .configure(CsvParser.Feature.FAIL_ON_MISSING_COLUMNS, failOnMissing)
            .configure(CsvParser.Feature.EMPTY_STRING_AS_NULL, emptyStringAsNull)
            .build();
    }
}
