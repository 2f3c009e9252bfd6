package io.github.kafkasql.formats.protobuf;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadDecoder;
import java.io.IOException;

/** Reads a message with protobuf's stream, and knows where it is for errors. */
final class ProtobufInput {
    private static final String TRUNCATED = "the message ends in the middle of a value";
    private static final String INVALID_TAG = "Protocol message contained an invalid tag";

    CodedInputStream stream;
    boolean isCopy; // whether protobuf's library has merged the occurrences of fields
    String path = ""; // of the last field; empty if it has no column
    boolean hasUnknown; // whether the last message had other fields, or numbers that their enum does not have
    boolean hasUnknownNumber;
    private final byte[] payload;
    private final int headerSize;
    private Mismatch problem; // of the first value that cannot be converted
    private int problemRank = Integer.MAX_VALUE;

    /** headerSize: where the message begins in the payload. */
    ProtobufInput(byte[] payload, int headerSize) throws InvalidProtocolBufferException {
        this.payload = payload;
        this.headerSize = headerSize;
        open(CodedInputStream.newInstance(payload, headerSize, size()), size());
    }

    private int size() {
        return payload.length - headerSize;
    }

    private void open(CodedInputStream stream, int size) throws InvalidProtocolBufferException {
        this.stream = stream;
        stream.pushLimit(size);
    }

    /** Continues with a copy of the message. */
    void openCopy(byte[] copy) throws InvalidProtocolBufferException {
        isCopy = true;
        path = "";
        problem = null;
        problemRank = Integer.MAX_VALUE;
        open(CodedInputStream.newInstance(copy), copy.length);
    }

    int readTag() throws IOException {
        int tag = stream.readRawVarint32(); // readTag() hides which tag is wrong
        boolean isValid = tag >>> 3 != 0 && (tag & 7) != WireFormat.WIRETYPE_END_GROUP;
        if (!isValid) throw failure(INVALID_TAG, path, stream.getTotalBytesRead());
        return tag;
    }

    /** Returns the length of a value, which is not more than the bytes that are left. */
    int readLength() throws IOException {
        long length = stream.readRawVarint64();
        if (length < 0 || length > stream.getBytesUntilLimit()) throw failure(TRUNCATED, path, -1);
        return (int) length;
    }

    void skip(int tag) throws IOException {
        if ((tag & 7) == WireFormat.WIRETYPE_LENGTH_DELIMITED) stream.skipRawBytes(readLength());
        else stream.skipField(tag);
    }

    /** Remembers why a value cannot be converted, if it is the first such column. rank: of the column. */
    void report(int rank, String reason, String path) {
        if (rank >= problemRank) return;
        problemRank = rank;
        problem = new Mismatch(reason, path, false);
    }

    void checkProblems() {
        if (problem != null) throw problem;
    }

    /** Returns the error for an exception of protobuf's library, which differ only by their texts. */
    Mismatch failure(InvalidProtocolBufferException e) {
        String text = e.getMessage();
        boolean isEnd = text.contains("end-group") && stream.getLastTag() == 0; // of a group without an end
        if (text.contains("malformed varint")) return failure("a number has too many bytes", path, -1);
        boolean isTag = text.contains("tag") || text.contains("levels of nesting");
        return failure(isTag && !isEnd ? INVALID_TAG : TRUNCATED, path, -1);
    }

    /** position: in the message; -1 if it is unknown. */
    Mismatch failure(String reason, String path, int position) {
        String where = (position < 0 || isCopy ? "(of " : "(byte " + position + " of ") + size();
        where += position < 0 || isCopy ? " bytes)" : ")";
        String excerpt = PayloadDecoder.hexExcerpt(payload, headerSize);
        return new Mismatch(reason + " " + where + "; the message is: " + excerpt, path, false);
    }
}
