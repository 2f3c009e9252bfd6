package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.streaming.MapState;

/**
 * The values of an argument in the order of their arrival.
 *
 * <p>The state is a doubly linked list of numbered values, in which equal values are linked, too. So a change takes the
 * same time in a small and in a large group. Of equal values, the oldest is retracted first, as in Flink. With
 * DISTINCT, a value has the place of the first row with it, until the last one is retracted.
 */
final class OrderedValues {
    static final int COLUMNS = 3; // of the state of the group: the first, the last and the next number

    private final MapState<byte[], byte[]> nodes;
    private final MapState<byte[], byte[]> places;
    private final boolean isDistinct;
    private long first; // 0 for none
    private long last;
    private long next;
    private Map<ByteBuffer, Long> unknown = new HashMap<>(); // values that were retracted before they were added

    /** A value, and the numbers of its neighbors and of the next value that is equal; 0 for none. */
    private record Node(long previous, long next, long nextEqual, byte[] value) {
        byte[] pack() {
            return ByteBuffer.allocate(24 + value.length).putLong(previous).putLong(next).putLong(nextEqual).put(value)
                .array();
        }

        static Node unpack(byte[] bytes) {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            Node links = new Node(buffer.getLong(), buffer.getLong(), buffer.getLong(), new byte[bytes.length - 24]);
            buffer.get(links.value);
            return links;
        }
    }

    /** The numbers of the first and the last of equal values; with DISTINCT, a number and how many rows have it. */
    private record Place(long first, long last) {
        byte[] pack() {
            return ByteBuffer.allocate(16).putLong(first).putLong(last).array();
        }
    }

    OrderedValues(MapState<byte[], byte[]> nodes, MapState<byte[], byte[]> places, boolean isDistinct) {
        this.nodes = nodes;
        this.places = places;
        this.isDistinct = isDistinct;
    }

    /** Read what the state of the group has; null for a new group. */
    void load(InternalRow state, int column) {
        first = state == null ? 0 : state.getLong(column);
        last = state == null ? 0 : state.getLong(column + 1);
        next = state == null ? 1 : state.getLong(column + 2);
        unknown = new HashMap<>();
    }

    /** Write what the state of the group has. */
    void store(Object[] state, int column) {
        state[column] = first;
        state[column + 1] = last;
        state[column + 2] = next;
    }

    void clear() {
        if (nodes.exists()) nodes.clear();
        if (places.exists()) places.clear();
    }

    /** Add a value after all others (sign 1), or retract one (-1). */
    void add(byte[] value, int sign) {
        if (sign < 0) retract(value);
        else if (!wasRetracted(value)) append(value);
    }

    private boolean wasRetracted(byte[] value) {
        Long count = unknown.remove(ByteBuffer.wrap(value));
        if (count != null && count > 1) unknown.put(ByteBuffer.wrap(value), count - 1);
        return count != null;
    }

    private void append(byte[] value) {
        Place place = place(value);
        if (isDistinct && place != null) {
            places.updateValue(value, new Place(place.first(), place.last() + 1).pack());
            return;
        }
        long number = next++;
        if (last == 0) first = number;
        else link(last, number);
        write(number, new Node(last, 0, 0, value));
        last = number;
        if (place == null) {
            places.updateValue(value, new Place(number, isDistinct ? 1 : number).pack());
            return;
        }
        Node equal = read(place.last());
        if (equal != null) write(place.last(), new Node(equal.previous(), equal.next(), number, value));
        places.updateValue(value, new Place(place.first(), number).pack());
    }

    private void retract(byte[] value) {
        Place place = place(value);
        if (place == null) { // changes from several tasks can arrive in another order
            unknown.merge(ByteBuffer.wrap(value), 1L, Long::sum);
            return;
        }
        if (isDistinct && place.last() > 1) {
            places.updateValue(value, new Place(place.first(), place.last() - 1).pack());
            return;
        }
        Node node = read(place.first());
        if (node == null) { // its time to live has passed
            places.removeKey(value);
            return;
        }
        if (node.previous() == 0) first = node.next();
        else link(node.previous(), node.next());
        if (node.next() == 0) last = node.previous();
        else {
            Node after = read(node.next());
            if (after != null)
                write(node.next(), new Node(node.previous(), after.next(), after.nextEqual(), after.value()));
        }
        nodes.removeKey(bytes(place.first()));
        if (node.nextEqual() == 0) places.removeKey(value);
        else places.updateValue(value, new Place(node.nextEqual(), place.last()).pack());
    }

    /** Let a value be followed by another one. */
    private void link(long number, long next) {
        Node node = read(number);
        if (node != null) write(number, new Node(node.previous(), next, node.nextEqual(), node.value()));
    }

    /** The first value; null for none. */
    byte[] first() {
        return value(first);
    }

    /** The last value; null for none. */
    byte[] last() {
        return value(last);
    }

    private byte[] value(long number) {
        Node node = number == 0 ? null : read(number);
        return node == null ? null : node.value();
    }

    List<byte[]> all() {
        List<byte[]> values = new ArrayList<>();
        for (long number = first; number != 0; ) {
            Node node = read(number);
            if (node == null) break;
            values.add(node.value());
            number = node.next();
        }
        return values;
    }

    private Place place(byte[] value) {
        byte[] packed = places.getValue(value);
        if (packed == null) return null;
        ByteBuffer buffer = ByteBuffer.wrap(packed);
        return new Place(buffer.getLong(), buffer.getLong());
    }

    /** A node; null if its time to live has passed. */
    private Node read(long number) {
        byte[] packed = nodes.getValue(bytes(number));
        return packed == null ? null : Node.unpack(packed);
    }

    private void write(long number, Node node) {
        nodes.updateValue(bytes(number), node.pack());
    }

    private static byte[] bytes(long number) {
        return ByteBuffer.allocate(8).putLong(number).array();
    }
}
