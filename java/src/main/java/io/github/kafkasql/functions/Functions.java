package io.github.kafkasql.functions;

import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;

/** The functions of computed columns and of rewritten queries by name. */
public final class Functions {
    private static final List<FlinkFunction> OTHERS = List.of(
        new ArrivalOrder(),
        new Json.JsonValue(),
        new Json.JsonValueInt(),
        new Json.JsonValueBoolean(),
        new Json.JsonValueDouble(),
        new Json.JsonExists(),
        new Json.JsonQuery(),
        new Json.JsonQueryArray(),
        new JsonString(),
        new JsonText.JsonDocument(),
        new JsonText.IsJson(),
        new JsonText.JsonQuote(),
        new JsonText.JsonUnquote(),
        new ParseUrl(),
        new ParseUrl.ParseUrlKey(),
        new Printf());
    private static final Map<String, FlinkFunction> BY_NAME =
        Stream.of(DateTimes.ALL, Rounding.ALL, StringCasts.ALL, Strings.ALL, OTHERS)
            .flatMap(List::stream)
            .collect(Collectors.toMap(FlinkFunction::name, Function.identity()));

    private Functions() {}

    /** Return a function; null if there is none of the name, which is in any case. */
    public static UnboundFunction find(String name) {
        return BY_NAME.get(name.toLowerCase(Locale.ROOT));
    }
}
