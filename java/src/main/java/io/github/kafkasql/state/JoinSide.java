package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.MapState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * The rows of a key on one side of a {@link Joiner}. Equal rows are kept once, with their number; if the join needs it,
 * also with the number of rows of the other side that match.
 */
final class JoinSide {
    private final MapState<byte[], byte[]> state;
    private final int columns;
    private final boolean keepsMatches;
    private Map<ByteBuffer, Rows> known = new LinkedHashMap<>();
    private List<Rows> changed = new ArrayList<>();
    private boolean isComplete;

    /** Equal rows, before and after the changes of a micro-batch. */
    static final class Rows {
        final byte[] bytes;
        final UnsafeRow row;
        final long before;
        final long matchesBefore;
        long now;
        long matches;

        Rows(byte[] bytes, int columns, long count, long matches) {
            this.bytes = bytes;
            row = RowPacker.toRow(bytes, columns);
            before = count;
            now = count;
            matchesBefore = matches;
            this.matches = matches;
        }

        long difference() {
            return now - before;
        }
    }

    JoinSide(MapState<byte[], byte[]> state, int columns, boolean keepsMatches) {
        this.state = state;
        this.columns = columns;
        this.keepsMatches = keepsMatches;
    }

    /** Forget the rows of the key before. */
    void begin() {
        known = new LinkedHashMap<>();
        changed = new ArrayList<>();
        isComplete = false;
    }

    /** Add a row, or remove one of the rows that are equal to it. */
    void apply(Change change) {
        Rows rows = known.computeIfAbsent(ByteBuffer.wrap(change.row()), key -> {
            Rows read = read(change.row(), state.getValue(change.row()));
            changed.add(read);
            return read;
        });
        if (!change.isRetraction()) rows.now++;
        else if (rows.now > 0) rows.now--; // otherwise the row is unknown, as in Flink
    }

    /** The rows whose number the micro-batch changes. */
    List<Rows> changed() {
        return changed.stream().filter(rows -> rows.difference() != 0).toList();
    }

    /** The rows that were read so far. */
    Collection<Rows> seen() {
        return known.values();
    }

    /** All rows of the key, also those that were removed. */
    Collection<Rows> all() {
        if (!isComplete) {
            Iterator<Tuple2<byte[], byte[]>> entries = state.iterator();
            while (entries.hasNext()) {
                Tuple2<byte[], byte[]> entry = entries.next();
                known.computeIfAbsent(ByteBuffer.wrap(entry._1()), key -> read(entry._1(), entry._2()));
            }
            isComplete = true;
        }
        return known.values();
    }

    /** Write what has changed. */
    void save() {
        for (Rows rows : known.values()) {
            if (rows.now == rows.before && (!keepsMatches || rows.matches == rows.matchesBefore)) continue;
            if (rows.now == 0) state.removeKey(rows.bytes);
            else state.updateValue(rows.bytes, write(rows));
        }
    }

    private Rows read(byte[] bytes, byte[] counts) {
        if (counts == null) return new Rows(bytes, columns, 0, 0);
        ByteBuffer buffer = ByteBuffer.wrap(counts);
        return new Rows(bytes, columns, buffer.getLong(), keepsMatches ? buffer.getLong() : 0);
    }

    private byte[] write(Rows rows) {
        ByteBuffer buffer = ByteBuffer.allocate(keepsMatches ? 16 : 8).putLong(rows.now);
        if (keepsMatches) buffer.putLong(rows.matches);
        return buffer.array();
    }
}
