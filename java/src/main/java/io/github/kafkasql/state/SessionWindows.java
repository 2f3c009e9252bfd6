package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.streaming.ExpiredTimerInfo;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Flink's WindowTableFunction for SESSION: returns the rows of a session, with its start and its end, when the watermark
 * passes the session. A row that is retracted before is not returned, but the session stays as long as it was, as in
 * Flink.
 *
 * <p>The input are rows of {@link Change}. A column of the row has the session of this row alone: a struct of the start and
 * the end, in microseconds. The output are packed rows of the start, the end and the bytes of the row.
 */
final class SessionWindows extends Operator {
    private static final long serialVersionUID = 1;

    private final int columns; // of a row
    private final int sessionColumn;
    private final boolean retracts;
    private final boolean dropsLateRows;
    private transient ValueState<byte[]> header; // the timer, the number of buckets, and the open sessions
    private transient MapState<byte[], byte[]> rows; // by bucket and number
    private transient MapState<byte[], byte[]> places; // the bucket and number of each of the equal rows, by row
    private transient long timer; // of the current key, in milliseconds; Long.MAX_VALUE if none is set
    private transient long buckets; // of the current key
    private transient List<Session> sessions; // of the current key

    /**
     * @param retracts whether rows are retracted
     * @param dropsLateRows whether rows of sessions that have ended are late; those of another operator are not
     */
    SessionWindows(int columns, int sessionColumn, boolean retracts, boolean dropsLateRows) {
        this.columns = columns;
        this.sessionColumn = sessionColumn;
        this.retracts = retracts;
        this.dropsLateRows = dropsLateRows;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        header = valueState("sessions");
        rows = mapState("rows");
        if (retracts) places = mapState("places");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        load();
        long late = dropsLateRows ? Times.micros(timers.getCurrentWatermarkInMs()) : Long.MIN_VALUE;
        for (Change change : Change.readAll(input)) {
            UnsafeRow window = RowPacker.toRow(change.row(), columns).getStruct(sessionColumn, 2);
            Session session = findSession(window.getLong(0), window.getLong(1), late);
            if (session == null) continue; // late
            if (change.isRetraction()) retract(change.row());
            else add(change.row(), session);
        }
        save();
        return results(List.of());
    }

    /** Return the open session of a row, which merges all sessions that the row connects; null for a late row. */
    private Session findSession(long start, long end, long late) {
        Session found = null;
        for (int i = 0; i < sessions.size(); i++) {
            Session session = sessions.get(i);
            if (!session.touches(start, end) || session.lastInstant() <= late) continue;
            if (found == null) {
                found = session;
                found.start = Math.min(found.start, start);
                found.end = Math.max(found.end, end);
            } else {
                found.merge(session);
                sessions.remove(i--);
            }
        }
        if (found != null) return found;
        var alone = new Session(start, end);
        if (alone.lastInstant() <= late) return null;
        sessions.add(alone);
        return alone;
    }

    private void add(byte[] row, Session session) {
        if (session.buckets.isEmpty()) session.buckets.add(new Session.Bucket(buckets++, 0));
        Session.Bucket bucket = session.buckets.get(session.buckets.size() - 1);
        byte[] place = TimeBytes.write(bucket.number, bucket.rows++);
        rows.updateValue(place, row);
        if (!retracts) return;
        byte[] known = places.getValue(row);
        places.updateValue(row, known == null ? place : concat(known, place));
    }

    private void retract(byte[] row) {
        byte[] known = places.getValue(row);
        if (known == null) return;
        int rest = known.length - Session.BUCKET_BYTES;
        rows.removeKey(Arrays.copyOfRange(known, rest, known.length));
        keepPlaces(row, Arrays.copyOf(known, rest));
    }

    private void keepPlaces(byte[] row, byte[] rest) {
        if (rest.length == 0) places.removeKey(row);
        else places.updateValue(row, rest);
    }

    private static byte[] concat(byte[] known, byte[] place) {
        return ByteBuffer.allocate(known.length + place.length).put(known).put(place).array();
    }

    @Override
    public Iterator<byte[]> handleExpiredTimer(byte[] key, TimerValues timers, ExpiredTimerInfo expired) {
        load();
        timer = Long.MAX_VALUE;
        long watermark = Times.micros(timers.getCurrentWatermarkInMs());
        List<Session> closed = sessions.stream().filter(s -> s.lastInstant() <= watermark).toList();
        sessions.removeAll(closed);
        save();
        return CollectionConverters.asScala(closed.stream().flatMap(this::takeRows).iterator());
    }

    /** Return the rows of a session, and remove them from the state. */
    private java.util.stream.Stream<byte[]> takeRows(Session session) {
        List<byte[]> output = new ArrayList<>();
        for (Session.Bucket bucket : session.buckets) {
            for (long number = 0; number < bucket.rows; number++) {
                byte[] place = TimeBytes.write(bucket.number, number);
                byte[] row = rows.getValue(place);
                if (row == null) continue; // it was retracted
                rows.removeKey(place);
                if (retracts && places.containsKey(row)) places.removeKey(row); // equal rows are in the same session
                output.add(pack(session, row));
            }
        }
        return output.stream();
    }

    private static byte[] pack(Session session, byte[] row) {
        var writer = new UnsafeRowWriter(3, row.length + 8);
        writer.resetRowWriter();
        writer.write(0, session.start);
        writer.write(1, session.end);
        writer.write(2, row);
        return writer.getRow().getBytes();
    }

    private void load() {
        byte[] packed = header.get();
        ByteBuffer bytes = packed == null ? null : ByteBuffer.wrap(packed);
        timer = bytes == null ? Long.MAX_VALUE : bytes.getLong();
        buckets = bytes == null ? 0 : bytes.getLong();
        sessions = bytes == null ? new ArrayList<>(1) : Session.read(bytes);
    }

    /** Set a timer for the session that ends first, and write the sessions. */
    private void save() {
        long next = sessions.stream().mapToLong(s -> Times.timer(s.lastInstant())).min().orElse(Long.MAX_VALUE);
        if (next != timer) {
            if (timer != Long.MAX_VALUE) getHandle().deleteTimer(timer);
            if (next != Long.MAX_VALUE) getHandle().registerTimer(next);
            timer = next;
        }
        if (sessions.isEmpty()) header.clear();
        else header.update(Session.pack(timer, buckets, sessions));
    }
}
