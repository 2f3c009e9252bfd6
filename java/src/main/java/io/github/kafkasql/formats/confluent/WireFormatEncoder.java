package io.github.kafkasql.formats.confluent;

import io.github.kafkasql.formats.PayloadEncoder;
import java.util.Arrays;
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

    @Override
    public byte[] encodeRow(InternalRow row) {
        byte[] body = encoder.encodeRow(row);
        byte[] payload = Arrays.copyOf(header, header.length + body.length);
        System.arraycopy(body, 0, payload, header.length, body.length);
        return payload;
    }
}
