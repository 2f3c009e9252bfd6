package io.github.kafkasql.functions;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A path of names, indexes and wildcards, as Flink evaluates it with Jayway JsonPath.
 *
 * <p>A path with a wildcard leads to the list of all matches. In strict mode, what precedes the first wildcard must
 * exist, except for an index beyond the end of an array. After a wildcard, elements without the name or index are left
 * out.
 */
final class JsonPath {
    /** The result of a path that leads nowhere: the clause ON EMPTY or ON ERROR applies. */
    static final Object EMPTY = new Object();
    static final Object ERROR = new Object();

    private static final Memo<JsonPath> PATHS = new Memo<>(text -> new JsonPath(text.toString()));
    private static final Pattern STEP = Pattern.compile("\\.([^.\\[]+)|\\['([^']+)'\\]|\\[(\\d+|\\*)\\]");
    private static final Object WILDCARD = new Object();

    final boolean isLax;
    private final List<Object> steps = new ArrayList<>(); // names, indexes and WILDCARD

    private JsonPath(String text) {
        isLax = text.startsWith("lax");
        Matcher matcher = STEP.matcher(text.substring(text.indexOf('$')));
        while (matcher.find()) {
            String quoted = matcher.group(2), name = matcher.group(1), index = matcher.group(3);
            if (quoted != null) steps.add(quoted);
            else if ("*".equals(name) || "*".equals(index)) steps.add(WILDCARD);
            else if (name != null) steps.add(name);
            else steps.add(index.length() < 10 ? Integer.valueOf(index) : Integer.MAX_VALUE);
        }
    }

    /** Return what a path leads to in a text: EMPTY, ERROR, or a value that is not null. */
    static Object find(UTF8String text, UTF8String path) {
        JsonPath parsed = PATHS.get(path);
        Object document = Json.parse(text.toString());
        if (document == null) return ERROR;
        return document == Json.INVALID ? parsed.missing() : parsed.find(document);
    }

    /** Return the result of a path whose value does not exist, or is of a type that the function does not accept. */
    private Object missing() {
        return isLax ? EMPTY : ERROR;
    }

    /** Return {@link #missing} of a path. */
    static Object missing(UTF8String path) {
        return PATHS.get(path).missing();
    }

    private Object find(Object document) {
        Object value = document;
        for (int i = 0; i < steps.size(); i++) {
            Object step = steps.get(i);
            if (step == WILDCARD) return findAll(children(value), steps.subList(i + 1, steps.size()));
            boolean isBeyondEnd = step instanceof Integer n && value instanceof List<?> list && n >= list.size();
            if (!has(value, step)) {
                if (!steps.subList(i, steps.size()).contains(WILDCARD)) return missing();
                return isLax || isBeyondEnd ? List.of() : ERROR;
            }
            value = get(value, step);
        }
        return Objects.requireNonNullElse(value, missing());
    }

    private static List<Object> findAll(Stream<?> values, List<Object> steps) {
        Stream<?> found = values;
        for (Object step : steps) {
            found = step == WILDCARD
                ? found.flatMap(JsonPath::children)
                : found.filter(value -> has(value, step)).map(value -> get(value, step));
        }
        return new ArrayList<>(found.toList());
    }

    private static Stream<?> children(Object value) {
        if (value instanceof List<?> list) return list.stream();
        return value instanceof Map<?, ?> map ? map.values().stream() : Stream.empty();
    }

    private static boolean has(Object value, Object step) {
        if (step instanceof Integer index) return value instanceof List<?> list && index < list.size();
        return value instanceof Map<?, ?> map && map.containsKey(step);
    }

    private static Object get(Object value, Object step) {
        return step instanceof Integer index ? ((List<?>) value).get(index) : ((Map<?, ?>) value).get(step);
    }
}
