package io.github.kafkasql.state;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * A session that {@link SessionWindows} has not returned yet, with its rows. Each row has the number of a bucket and a
 * number in it. A session that was merged from others has their buckets.
 */
final class Session {
    static final int BUCKET_BYTES = 16;
    private static final long MILLISECOND = 1000; // in microseconds

    long start, end; // in microseconds
    final List<Bucket> buckets = new ArrayList<>(1);

    /** A bucket, and how many rows were added to it. Some of them may be retracted. */
    static final class Bucket {
        final long number;
        long rows;

        Bucket(long number, long rows) {
            this.number = number;
            this.rows = rows;
        }
    }

    Session(long start, long end) {
        this.start = start;
        this.end = end;
    }

    /** Whether the session and a window have an instant in common, or one begins where the other one ends. */
    boolean touches(long otherStart, long otherEnd) {
        return start <= otherEnd && otherStart <= end;
    }

    void merge(Session other) {
        start = Math.min(start, other.start);
        end = Math.max(end, other.end);
        buckets.addAll(other.buckets);
    }

    /** The last instant, which the watermark must pass. */
    long lastInstant() {
        return end - MILLISECOND;
    }

    /** Write sessions, after two numbers. */
    static byte[] pack(long first, long second, List<Session> sessions) {
        int size = 16 + sessions.stream().mapToInt(s -> 20 + BUCKET_BYTES * s.buckets.size()).sum();
        ByteBuffer bytes = ByteBuffer.allocate(size).putLong(first).putLong(second);
        for (Session session : sessions) {
            bytes.putLong(session.start).putLong(session.end).putInt(session.buckets.size());
            for (Bucket bucket : session.buckets) bytes.putLong(bucket.number).putLong(bucket.rows);
        }
        return bytes.array();
    }

    /** Read the sessions after the two numbers. */
    static List<Session> read(ByteBuffer bytes) {
        List<Session> sessions = new ArrayList<>(1);
        while (bytes.hasRemaining()) {
            Session session = new Session(bytes.getLong(), bytes.getLong());
            for (int count = bytes.getInt(); count > 0; count--)
                session.buckets.add(new Bucket(bytes.getLong(), bytes.getLong()));
            sessions.add(session);
        }
        return sessions;
    }
}
