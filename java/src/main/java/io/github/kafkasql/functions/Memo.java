package io.github.kafkasql.functions;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.spark.unsafe.types.UTF8String;

/** Keeps what is derived from literals. If they turn out to be values, of which there are many, it starts again. */
final class Memo<V> {
    private static final int CAPACITY = 1000;

    private final ConcurrentHashMap<UTF8String, V> values = new ConcurrentHashMap<>();
    private final Function<UTF8String, V> derive;

    Memo(Function<UTF8String, V> derive) {
        this.derive = derive;
    }

    V get(UTF8String key) {
        V value = values.get(key);
        if (value == null) {
            if (values.size() >= CAPACITY) values.clear();
            value = derive.apply(key);
            values.put(key.copy(), value); // Spark uses the memory of a column's value again
        }
        return value;
    }
}
