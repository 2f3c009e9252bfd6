package io.github.kafkasql.formats.protobuf;

import java.util.Comparator;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The order of a map's keys in what protobuf's library for Python serializes deterministically.
 *
 * <p>Texts are ascending, but a prefix of a text follows it; numbers are descending as unsigned numbers.
 */
final class ProtobufKeys {
    static final Comparator<Object> ORDER = ProtobufKeys::compare;

    private static int compare(Object key, Object other) {
        if (key instanceof UTF8String text) return compareTexts(text, (UTF8String) other);
        if (key instanceof Integer number) return Integer.compareUnsigned((Integer) other, number);
        if (key instanceof Long number) return Long.compareUnsigned((Long) other, number);
        return Boolean.compare((Boolean) other, (Boolean) key);
    }

    private static int compareTexts(UTF8String key, UTF8String other) {
        int order = key.compareTo(other);
        return key.startsWith(other) || other.startsWith(key) ? -order : order;
    }

    private ProtobufKeys() {}
}
