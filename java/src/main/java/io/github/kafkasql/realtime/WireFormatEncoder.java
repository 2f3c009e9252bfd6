package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadEncoder;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Writes the header of Confluent's wire format before each payload. */
public final class WireFormatEncoder extends PayloadEncoder {
    private final byte[] header;
    private final PayloadEncoder encoder;

    public WireFormatEncoder(StructType type, byte[] header, PayloadEncoder encoder) {
        super(type);
        this.header = header;
        this.encoder = encoder;
    }

    public byte[] encodeRow(InternalRow row) {
        byte[] body = encoder.encodeRow(row);
        byte[] payload = new byte[header.length + body.length];
        System.arraycopy(header, 0, payload, 0, header.length);
        System.arraycopy(body, 0, payload, header.length, body.length);
        return payload;
    }
}
