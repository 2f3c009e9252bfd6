package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.Mismatch;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * Reads protobuf's wire format, and knows where it is for errors.
 *
 * <p>Methods take the position at which the enclosing message ends, and throw Mismatch if the payload is malformed.
 */
final class ProtobufInput {
    static final int VARINT = 0; // wire types
    static final int I64 = 1;
    static final int LEN = 2;
    static final int SGROUP = 3;
    static final int EGROUP = 4;
    static final int I32 = 5;
    private static final int DEEPEST_GROUP = 100;

    final byte[] payload;
    int position;
    String path = ""; // of the last field; empty if it has no column
    boolean isMerged; // whether an occurrence of a field was merged with another one, or replaced another field's
    private final ByteBuffer buffer;
    private final int start;
    private final String messageName;

    /** start: where the message begins. */
    ProtobufInput(byte[] payload, int start, String messageName) {
        this.payload = payload;
        this.buffer = ByteBuffer.wrap(payload).order(ByteOrder.LITTLE_ENDIAN);
        this.position = this.start = start;
        this.messageName = messageName;
    }

    long readVarint(int end) {
        long bits = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (position >= end) throw truncated();
            byte next = payload[position++];
            bits |= (next & 0x7FL) << shift;
            if (next >= 0) return bits;
        }
        throw failure("a number has too many bytes", path, -1);
    }

    /** Returns the position at which a value with a length ends. */
    int readEnd(int end) {
        long length = readVarint(end);
        if (length < 0 || length > end - position) throw truncated();
        return position + (int) length;
    }

    int readFixed32(int end) {
        skipBytes(4, end);
        return buffer.getInt(position - 4);
    }

    long readFixed64(int end) {
        skipBytes(8, end);
        return buffer.getLong(position - 8);
    }

    byte[] readBytes(int end) {
        byte[] bytes = Arrays.copyOfRange(payload, position, end);
        position = end;
        return bytes;
    }

    /** Skips a value. number: of its field. */
    void skip(int number, int wireType, int end) {
        if (wireType == SGROUP) skipGroup(number, end);
        else skipValue(wireType, end);
    }

    private void skipValue(int wireType, int end) {
        if (wireType == VARINT) readVarint(end);
        else if (wireType == LEN) position = readEnd(end);
        else if (wireType == I64) skipBytes(8, end);
        else if (wireType == I32) skipBytes(4, end);
        else throw invalidTag(-1);
    }

    private void skipBytes(int size, int end) {
        if (size > end - position) throw truncated();
        position += size;
    }

    private void skipGroup(int number, int end) {
        int[] open = new int[DEEPEST_GROUP];
        open[0] = number;
        int depth = 1;
        while (depth > 0) {
            int tag = (int) readVarint(end);
            int wireType = tag & 7;
            if (tag >>> 3 == 0) throw invalidTag(-1);
            if (wireType == SGROUP) {
                if (depth == DEEPEST_GROUP) throw invalidTag(-1);
                open[depth++] = tag >>> 3;
            } else if (wireType != EGROUP) {
                skipValue(wireType, end);
            } else if (open[--depth] != tag >>> 3) {
                throw invalidTag(-1);
            }
        }
    }

    /** position: -1 if it is unknown. */
    Mismatch invalidTag(int position) {
        return failure("Protocol message contained an invalid tag", path, position);
    }

    private Mismatch truncated() {
        return failure("the message ends in the middle of a value", path, -1);
    }

    /** Returns an error. After fields were merged, it is that of protobuf's library, as in Python. */
    Mismatch failure(String reason, String path, int position) {
        return isMerged
            ? describe("Error parsing message with type '" + messageName + "'", "", -1)
            : describe(reason, path, position);
    }

    Mismatch missingField(String path, int position) {
        return describe("Message missing required field", path, position);
    }

    private Mismatch describe(String reason, String path, int position) {
        int size = payload.length - start;
        String where = position < 0 ? "(of " + size + " bytes)" : "(byte " + (position - start) + " of " + size + ")";
        String excerpt = AvroReader.hexadecimal(Arrays.copyOfRange(payload, start, payload.length));
        return new Mismatch(reason + " " + where + "; the message is: " + excerpt, path, false);
    }
}
