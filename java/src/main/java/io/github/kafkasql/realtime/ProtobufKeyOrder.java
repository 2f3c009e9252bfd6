package io.github.kafkasql.realtime;

import java.util.Comparator;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The order of a map's keys in what protobuf's library for Python serializes deterministically: texts are ascending, but
 * a prefix of a text follows it; numbers are descending as unsigned numbers.
 */
final class ProtobufKeyOrder implements Comparator {
    public int compare(Object key, Object other) {
        if (key instanceof UTF8String) return compareTexts((UTF8String) key, (UTF8String) other);
        if (key instanceof Integer) {
            return Integer.compareUnsigned(((Integer) other).intValue(), ((Integer) key).intValue());
        }
        if (key instanceof Long) return Long.compareUnsigned(((Long) other).longValue(), ((Long) key).longValue());
        return ((Comparable) other).compareTo(key);
    }

    private static int compareTexts(UTF8String key, UTF8String other) {
        int order = key.compareTo(other);
        return key.startsWith(other) || other.startsWith(key) ? -order : order;
    }
}
