package io.github.kafkasql.formats.avro;

import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadDecoder;
import java.io.EOFException;
import java.io.IOException;
import org.apache.avro.InvalidNumberEncodingException;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Reads a payload with Avro's decoder. Checks lengths before it allocates, and knows where it is for errors. */
final class AvroInput {
    String path = ""; // of the column that is read
    private byte[] payload = new byte[0];
    private BinaryDecoder decoder; // reused by all payloads
    private int start; // of the value that is read

    /** Starts a payload. */
    void open(byte[] payload, int headerSize) {
        this.payload = payload;
        this.path = "";
        this.decoder = DecoderFactory.get().binaryDecoder(payload, headerSize, payload.length - headerSize, decoder);
    }

    private BinaryDecoder next() throws IOException {
        start = payload.length - remaining();
        return decoder;
    }

    @SuppressWarnings("resource") // it is the decoder's
    private int remaining() throws IOException {
        return decoder.inputStream().available();
    }

    boolean readBoolean() throws IOException {
        return next().readBoolean();
    }

    int readInt() throws IOException {
        return next().readInt();
    }

    long readLong() throws IOException {
        return next().readLong();
    }

    float readFloat() throws IOException {
        return next().readFloat();
    }

    double readDouble() throws IOException {
        return next().readDouble();
    }

    byte[] readBytes() throws IOException {
        return readFixed(readLength());
    }

    byte[] readFixed(long size) throws IOException {
        checkRemaining(size);
        byte[] bytes = new byte[(int) size];
        next().readFixed(bytes);
        return bytes;
    }

    Void skipBytes() throws IOException {
        return skipFixed(readLength());
    }

    Void skipFixed(long size) throws IOException {
        checkRemaining(size);
        next().skipFixed((int) size);
        return null;
    }

    /** Skips the blocks of an array whose elements take no bytes. */
    Void skipBlocks() throws IOException {
        while (readBlockSize() != 0) continue;
        return null;
    }

    private long readLength() throws IOException {
        long length = readLong();
        if (length < 0) throw new IOException("Malformed data: a length is negative");
        return length;
    }

    /** Returns how many elements, which take at least a byte each, an array's or map's next block has; 0 at its end. */
    long readBlock() throws IOException {
        long count = readBlockSize();
        checkRemaining(count);
        return count;
    }

    private long readBlockSize() throws IOException {
        long count = readLong();
        if (count >= 0) return count;
        readLong(); // the block's size in bytes
        return -count;
    }

    private void checkRemaining(long size) throws IOException {
        if (size < 0 || size > remaining()) throw new EOFException();
    }

    /** Returns the error of a payload for an exception of this class or of Avro. */
    Mismatch mismatch(Exception e) {
        String reason = e.getMessage();
        if (e instanceof EOFException) reason = "the payload ends before the value does";
        if (e instanceof InvalidNumberEncodingException) reason = "a number has too many bytes";
        return mismatch(reason + " (byte " + start + " of " + payload.length + ")");
    }

    Mismatch mismatch(String reason) {
        return new Mismatch(reason + "; the payload is: " + PayloadDecoder.hexExcerpt(payload, 0), path, false);
    }
}
