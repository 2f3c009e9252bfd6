package io.github.kafkasql.state;

import io.github.kafkasql.state.JoinSide.Rows;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.BasePredicate;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.Predicate;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's regular join of two streams of changes: returns by how much the result of a key differs from the one before
 * the micro-batch, first what is retracted and then what is added.
 *
 * <p>The input are rows of {@link JoinEvent}. The output are packed rows with the row kind and the bytes of both sides.
 *
 * <p>A row without a match is returned with NULL if its side is preserved. Whether it has one follows from the number
 * of rows on the other side, or with a condition beyond the key, from the number of matches that is kept with the row.
 */
final class Joiner extends Operator {
    private static final long serialVersionUID = 1;

    private static final byte[] MATCHED = matched();

    private final JoinType type;
    private final Expression condition; // over the columns of both sides; null if the key is the whole condition
    private final int leftColumns;
    private final int rightColumns;
    private transient JoinSide left;
    private transient JoinSide right;
    private transient ValueState<byte[]> sizes; // the numbers of rows; null if they are not needed
    private transient BasePredicate predicate;
    private transient JoinedRow pair;
    private transient List<byte[]> retracted;
    private transient List<byte[]> added;

    Joiner(JoinType type, Expression condition, int leftColumns, int rightColumns) {
        this.type = type;
        this.condition = condition;
        this.leftColumns = leftColumns;
        this.rightColumns = rightColumns;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        boolean needsLeftMatches = type.returnsUnmatchedLeft || !type.returnsPairs;
        left = new JoinSide(mapState("left"), leftColumns, condition != null && needsLeftMatches);
        right = new JoinSide(mapState("right"), rightColumns, condition != null && type.returnsUnmatchedRight);
        if (condition != null) predicate = Predicate.create(condition);
        else if (needsLeftMatches || type.returnsUnmatchedRight) sizes = valueState("sizes");
        pair = new JoinedRow();
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        retracted = new ArrayList<>(1);
        added = new ArrayList<>(1);
        left.begin();
        right.begin();
        List<JoinEvent> events = new ArrayList<>(1);
        while (input.hasNext()) events.add(JoinEvent.read(input.next()._1()));
        if (events.size() > 1) Collections.sort(events);
        List<JoinEvent> unmatched = new ArrayList<>(0);
        for (JoinEvent event : events) {
            if (event.canMatch()) (event.isLeft() ? left : right).apply(event.change());
            else unmatched.add(event);
        }
        if (type.returnsUnmatchedLeft) addUnmatched(unmatched, true);
        if (type.returnsUnmatchedRight) addUnmatched(unmatched, false);
        List<Rows> leftChanges = left.changed();
        List<Rows> rightChanges = right.changed();
        if (type.returnsPairs || condition != null) addPairs(leftChanges, rightChanges);
        if (condition == null) addBySizes(leftChanges, rightChanges);
        else addByMatches();
        left.save();
        right.save();
        retracted.addAll(added);
        return results(retracted);
    }

    /** Return the rows of a preserved side whose key has NULL, which need no state. */
    private void addUnmatched(List<JoinEvent> events, boolean isLeft) {
        Map<ByteBuffer, Long> counts = new LinkedHashMap<>();
        for (JoinEvent event : events) {
            if (event.isLeft() == isLeft)
                counts.merge(ByteBuffer.wrap(event.change().row()), event.change().isRetraction() ? -1L : 1L, Long::sum);
        }
        counts.forEach((row, count) -> add(isLeft ? row.array() : null, isLeft ? null : row.array(), count));
    }

    /** Return the pairs whose number changes: of changed left rows with other right rows, and of changed right rows. */
    private void addPairs(List<Rows> leftChanges, List<Rows> rightChanges) {
        if (!leftChanges.isEmpty()) {
            for (Rows theirs : right.all()) {
                if (theirs.difference() != 0) continue;
                for (Rows mine : leftChanges) addPair(mine, theirs);
            }
        }
        if (rightChanges.isEmpty()) return;
        for (Rows mine : left.all()) for (Rows theirs : rightChanges) addPair(mine, theirs);
    }

    private void addPair(Rows mine, Rows theirs) {
        if (predicate != null) {
            if (!predicate.eval(pair.apply(mine.row, theirs.row))) return;
            // a new row counts all its matches; another one has the matches of before, and counts those that change
            mine.matches += mine.before == 0 ? theirs.now : theirs.difference();
            theirs.matches += theirs.before == 0 ? mine.now : mine.difference();
        }
        if (type.returnsPairs) add(mine.bytes, theirs.bytes, mine.now * theirs.now - mine.before * theirs.before);
    }

    /** Return the rows of a preserved side whose key gets its first row on the other side, or loses the last one. */
    private void addBySizes(List<Rows> leftChanges, List<Rows> rightChanges) {
        if (sizes == null) return;
        byte[] packed = sizes.get();
        ByteBuffer before = ByteBuffer.wrap(packed == null ? new byte[16] : packed);
        long lefts = before.getLong();
        long rights = before.getLong();
        long leftsNow = lefts + leftChanges.stream().mapToLong(Rows::difference).sum();
        long rightsNow = rights + rightChanges.stream().mapToLong(Rows::difference).sum();
        if (type.returnsUnmatchedLeft || !type.returnsPairs) {
            for (Rows rows : switches(rights, rightsNow) ? left.all() : leftChanges) addLeft(rows, rights, rightsNow);
        }
        if (type.returnsUnmatchedRight) {
            for (Rows rows : switches(lefts, leftsNow) ? right.all() : rightChanges)
                add(null, rows.bytes, unmatched(rows, lefts, leftsNow));
        }
        if (leftsNow == 0 && rightsNow == 0) sizes.clear();
        else if (leftsNow != lefts || rightsNow != rights)
            sizes.update(ByteBuffer.allocate(16).putLong(leftsNow).putLong(rightsNow).array());
    }

    private static boolean switches(long before, long now) {
        return (before == 0) != (now == 0);
    }

    private void addByMatches() {
        for (Rows rows : left.seen()) addLeft(rows, rows.matchesBefore, rows.matches);
        if (!type.returnsUnmatchedRight) return;
        for (Rows rows : right.seen()) add(null, rows.bytes, unmatched(rows, rows.matchesBefore, rows.matches));
    }

    private void addLeft(Rows rows, long matchesBefore, long matches) {
        long unmatched = unmatched(rows, matchesBefore, matches);
        if (type.returnsUnmatchedLeft) add(rows.bytes, null, unmatched);
        if (type.returnsMatchedLeft())
            add(rows.bytes, type == JoinType.EXISTENCE ? MATCHED : null, rows.difference() - unmatched);
    }

    /** The right side of a row of EXISTENCE that has a match: a row with one column, true. */
    private static byte[] matched() {
        var writer = new UnsafeRowWriter(1);
        writer.resetRowWriter();
        writer.write(0, true);
        return writer.getRow().copy().getBytes();
    }

    /** By how much the number of equal rows without a match changes. */
    private static long unmatched(Rows rows, long matchesBefore, long matches) {
        return (matches == 0 ? rows.now : 0) - (matchesBefore == 0 ? rows.before : 0);
    }

    private void add(byte[] mine, byte[] theirs, long count) {
        if (count == 0) return;
        RowKind kind = count < 0 ? RowKind.DELETE : RowKind.INSERT;
        int size = (mine == null ? 0 : mine.length) + (theirs == null ? 0 : theirs.length);
        var writer = new UnsafeRowWriter(3, size + 24);
        writer.resetRowWriter();
        writer.write(0, kind.text);
        if (mine == null) writer.setNullAt(1);
        else writer.write(1, mine);
        if (theirs == null) writer.setNullAt(2);
        else writer.write(2, theirs);
        byte[] packed = writer.getRow().getBytes();
        for (long i = Math.abs(count); i > 0; i--) (count < 0 ? retracted : added).add(packed);
    }
}
