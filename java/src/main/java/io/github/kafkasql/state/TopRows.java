package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** The first rows of a key, in their order. */
final class TopRows {
    private final RowOrder order;
    private final Comparator<RankedRow> comparator;
    private final int limit;
    private List<RankedRow> rows = new ArrayList<>();

    /** @param limit how many rows are kept at most */
    TopRows(RowOrder order, int limit) {
        this.order = order;
        this.limit = limit;
        comparator = order.comparator();
    }

    List<RankedRow> rows() {
        return rows;
    }

    int size() {
        return rows.size();
    }

    /** Add a row if it is one of the first ones. */
    boolean add(RankedRow row) {
        if (rows.size() == limit && !precedesLast(row)) return false;
        rows.add(-Collections.binarySearch(rows, row, comparator) - 1, row);
        if (rows.size() > limit) rows.remove(limit);
        return true;
    }

    /** Whether a row comes before the last one of the first rows. */
    boolean precedesLast(RankedRow row) {
        return !rows.isEmpty() && comparator.compare(row, rows.get(rows.size() - 1)) < 0;
    }

    /** Remove a row if it is one of the first ones. */
    void remove(RankedRow row) {
        int position = Collections.binarySearch(rows, row, comparator);
        if (position >= 0) rows.remove(position);
    }

    void clear() {
        rows = new ArrayList<>();
    }

    /** Read the rows from where {@link #write} wrote them. */
    void read(ByteBuffer packed) {
        int size = packed.getInt();
        rows = new ArrayList<>(size + 1);
        for (int i = 0; i < size; i++) {
            long number = packed.getLong();
            byte[] bytes = new byte[packed.getInt()];
            packed.get(bytes);
            rows.add(order.row(bytes, number));
        }
    }

    /** The rows as bytes, after a number of bytes for others. */
    ByteBuffer write(int offset) {
        int length = offset + 4;
        for (RankedRow row : rows) length += 12 + row.bytes().length;
        ByteBuffer packed = ByteBuffer.allocate(length).position(offset).putInt(rows.size());
        for (RankedRow row : rows) packed.putLong(row.number()).putInt(row.bytes().length).put(row.bytes());
        return packed;
    }
}
