package io.github.kafkasql.functions;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.math.BigDecimal;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * JSON_VALUE, JSON_QUERY and JSON_EXISTS, with Flink's settings of Jackson: numbers keep their digits, keys are sorted.
 *
 * <p>The parameters {@code onEmpty} and {@code onError} have the word of the clause, such as ERROR or EMPTY ARRAY.
 */
final class Json {
    /** The document of a text that is not JSON. */
    static final Object INVALID = new Object();

    private static final ObjectMapper MAPPER = JsonMapper.builder()
        .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
        .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
        .build();
    private static final UTF8String ERROR = UTF8String.fromString("ERROR");

    private Json() {}

    /** Return the value with which a text starts: a Map, List, String, Number, Boolean or null; or INVALID. */
    static Object parse(String text) {
        try {
            return MAPPER.readValue(text, Object.class);
        } catch (JsonProcessingException | NumberFormatException e) { // of an exponent with more than 32 bits
            return INVALID;
        }
    }

    static String write(Object value) {
        try {
            return MAPPER.writeValueAsString(value);
        } catch (JsonProcessingException e) {
            throw new AssertionError(e);
        }
    }

    private static boolean isContainer(Object value) {
        return value instanceof Map || value instanceof List;
    }

    public static final class JsonValue extends FlinkFunction {
        public static UTF8String invoke(
            UTF8String text,
            UTF8String path,
            UTF8String onEmpty,
            UTF8String emptyDefault,
            UTF8String onError,
            UTF8String errorDefault) {
            Object value = find(text, path, onEmpty, emptyDefault, onError, errorDefault);
            if (value == null || value instanceof UTF8String) return (UTF8String) value;
            return UTF8String.fromString(value.toString());
        }

        private static Object find(
            UTF8String text, UTF8String path, UTF8String onEmpty, Object emptyDefault, UTF8String onError, Object errorDefault) {
            if (text == null) return null;
            Object value = JsonPath.find(text, path);
            if (isContainer(value)) value = JsonPath.missing(path);
            if (value == JsonPath.EMPTY) {
                if (ERROR.equals(onEmpty)) throw error("Empty result of JSON_VALUE function is not allowed");
                return emptyDefault;
            }
            if (value == JsonPath.ERROR) {
                if (ERROR.equals(onError)) throw error("JSON_VALUE: the path does not lead to a value");
                return errorDefault;
            }
            return value;
        }

        /** Return a value that must have the class of the type after RETURNING. */
        static <T> T find(UTF8String text, UTF8String path, UTF8String onEmpty, UTF8String onError, Class<T> type) {
            Object value = find(text, path, onEmpty, null, onError, null);
            if (value == null || type.isInstance(value)) return type.cast(value);
            throw error("ClassCastException: the value of JSON_VALUE is not a " + type.getSimpleName(), write(value));
        }
    }

    public static final class JsonValueInt extends FlinkFunction {
        public static Integer invoke(UTF8String text, UTF8String path, UTF8String onEmpty, UTF8String onError) {
            return JsonValue.find(text, path, onEmpty, onError, Integer.class);
        }
    }

    public static final class JsonValueBoolean extends FlinkFunction {
        public static Boolean invoke(UTF8String text, UTF8String path, UTF8String onEmpty, UTF8String onError) {
            return JsonValue.find(text, path, onEmpty, onError, Boolean.class);
        }
    }

    /** Flink does not accept an integer. */
    public static final class JsonValueDouble extends FlinkFunction {
        public static Double invoke(UTF8String text, UTF8String path, UTF8String onEmpty, UTF8String onError) {
            BigDecimal value = JsonValue.find(text, path, onEmpty, onError, BigDecimal.class);
            return value == null ? null : value.doubleValue();
        }
    }

    public static final class JsonExists extends FlinkFunction {
        public static Boolean invoke(UTF8String text, UTF8String path, UTF8String onError) {
            if (text == null) return null;
            Object value = JsonPath.find(text, path);
            if (value != JsonPath.ERROR) return value != JsonPath.EMPTY;
            return switch (onError.toString()) {
                case "TRUE" -> Boolean.TRUE;
                case "UNKNOWN" -> null;
                case "ERROR" -> throw error("JSON_EXISTS: the path does not exist");
                default -> Boolean.FALSE;
            };
        }
    }

    /** The wrapper is CONDITIONAL, UNCONDITIONAL or null. */
    public static final class JsonQuery extends FlinkFunction {
        public static UTF8String invoke(
            UTF8String text, UTF8String path, UTF8String wrapper, UTF8String onEmpty, UTF8String onError) {
            Object value = find(text, path, wrapper, onEmpty, onError, false);
            return value == null ? null : UTF8String.fromString(write(value));
        }

        /** Return a Map or List; null for NULL. */
        static Object find(
            UTF8String text,
            UTF8String path,
            UTF8String wrapper,
            UTF8String onEmpty,
            UTF8String onError,
            boolean requiresArray) {
            if (text == null) return null;
            Object value = JsonPath.find(text, path);
            if (value != JsonPath.EMPTY && value != JsonPath.ERROR) {
                if (wrapper == null && !isContainer(value)) value = JsonPath.missing(path);
                else if (wrapper == null && requiresArray && value instanceof Map) value = JsonPath.ERROR;
                else if (wrapper != null && !(value instanceof List && wrapper.toString().equals("CONDITIONAL")))
                    return List.of(value);
            }
            if (value == JsonPath.EMPTY) return otherwise(onEmpty, "Empty result of JSON_QUERY function is not allowed");
            if (value != JsonPath.ERROR) return value;
            return otherwise(onError, "JSON_QUERY: the path does not lead to an array or object");
        }

        private static Object otherwise(UTF8String word, String message) {
            return switch (word.toString()) {
                case "EMPTY ARRAY" -> List.of();
                case "EMPTY OBJECT" -> Map.of();
                case "ERROR" -> throw error(message);
                default -> null;
            };
        }
    }

    /** The elements as texts. */
    public static final class JsonQueryArray extends FlinkFunction {
        @Sql("ARRAY<STRING>")
        public static ArrayData invoke(
            UTF8String text, UTF8String path, UTF8String wrapper, UTF8String onEmpty, UTF8String onError) {
            if (!(JsonQuery.find(text, path, wrapper, onEmpty, onError, true) instanceof List<?> list)) return null;
            return new GenericArrayData(list.stream().map(JsonQueryArray::text).toArray());
        }

        private static UTF8String text(Object element) {
            if (element == null) return null;
            return UTF8String.fromString(element instanceof String text ? text : write(element));
        }
    }
}
