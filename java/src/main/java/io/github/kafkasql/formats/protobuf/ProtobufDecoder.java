package io.github.kafkasql.formats.protobuf;

import io.github.kafkasql.formats.ErrorHandling;
import io.github.kafkasql.formats.Mismatch;
import io.github.kafkasql.formats.PayloadDecoder;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/** Decodes messages. */
public final class ProtobufDecoder extends PayloadDecoder {
    private final StructType type;
    private final byte[] files;
    private final String messageName;
    private final boolean readsDefaults;
    private final boolean ignoresErrors;
    private transient ProtobufReader reader;

    /** files: see ProtobufMessage. readsDefaults: whether an absent field is its default, not null. */
    public ProtobufDecoder(
        StructType type, byte[] files, String messageName, boolean readsDefaults, boolean ignoresErrors,
        ErrorHandling errors) {
        super(errors);
        this.type = type;
        this.files = files;
        this.messageName = messageName;
        this.readsDefaults = readsDefaults;
        this.ignoresErrors = ignoresErrors;
    }

    @Override
    protected void decodeRows(byte[] payload, List<InternalRow> rows) {
        if (payload == null) return;
        if (reader == null) {
            reader = new ProtobufReader(type, ProtobufMessage.load(files, messageName), readsDefaults);
        }
        try {
            rows.add(reader.read(payload, 0));
        } catch (Mismatch e) {
            if (!ignoresErrors) throw e;
        }
    }
}
