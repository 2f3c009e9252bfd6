package io.github.kafkasql.functions;

import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;

/** Keeps what is derived from literals. If they turn out to be values, of which there are many, it starts again. */
final class Memo<K, V> {
    private static final int CAPACITY = 1000;

    private final ConcurrentHashMap<K, V> values = new ConcurrentHashMap<>();
    private final Function<K, V> derive;

    Memo(Function<K, V> derive) {
        this.derive = derive;
    }

    V get(K key) {
        V value = values.get(key);
        if (value == null) {
            if (values.size() >= CAPACITY) values.clear();
            value = derive.apply(key);
            values.put(key, value);
        }
        return value;
    }
}
