package io.github.kafkasql.formats.protobuf;

import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Decodes messages of one type to rows.
 *
 * <p>If a message is not as serializers write it, because a message in it occurs repeatedly or a field of a oneof
 * replaces another one, protobuf's library merges them first.
 */
final class ProtobufReader {
    private static final double MAX_SECONDS = Long.MAX_VALUE / 1000000 - 1; // of a timestamp
    private static final int NULL_RANK = 1 << 20; // nulls are reported after values that cannot be converted

    private final ProtobufMessage message;
    private final boolean readsDefaults;

    /** Thrown for a message that must be merged first. */
    private static final class NotCanonical extends RuntimeException {
    
        NotCanonical() {
            super(null, null, false, false);
        }
    }

    /** readsDefaults: whether an absent field is its default, not null. */
    ProtobufReader(StructType type, Descriptor descriptor, boolean readsDefaults) {
        this.message = new ProtobufMessage(descriptor, type, null, "", new ProtobufMessage.Columns(readsDefaults));
        this.readsDefaults = readsDefaults;
    }

    /** Decodes a payload after its header. Throws Mismatch if it is malformed. */
    InternalRow read(byte[] payload, int headerSize) {
        try {
            ProtobufInput in = new ProtobufInput(payload, headerSize);
            try {
                return read(in);
            } catch (NotCanonical e) {
                in.openCopy(merge(payload, headerSize, in));
                return read(in);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private InternalRow read(ProtobufInput in) throws IOException {
        try {
            Object[] row = readFields(message, in);
            in.checkProblems();
            return new GenericInternalRow(row);
        } catch (InvalidProtocolBufferException e) {
            throw in.failure(e);
        }
    }

    private byte[] merge(byte[] payload, int headerSize, ProtobufInput in) {
        try {
            DynamicMessage.Builder merged = DynamicMessage.newBuilder(message.descriptor);
            return merged.mergeFrom(payload, headerSize, payload.length - headerSize).buildPartial().toByteArray();
        } catch (InvalidProtocolBufferException e) {
            throw in.failure("Error parsing message with type '" + message.descriptor.getFullName() + "'", "", -1);
        }
    }

    /** Returns the values of the columns. */
    private Object[] readFields(ProtobufMessage message, ProtobufInput in) throws IOException {
        Object[] values = new Object[message.byColumn.length];
        ProtobufField[] chosen = new ProtobufField[message.oneofCount];
        boolean[] isSeen = message.hasRequired ? new boolean[message.fields.length] : null;
        boolean hasUnknown = false;
        boolean hasUnknownNumber = false;
        int next = 0;
        while (!in.stream.isAtEnd()) {
            int tag = in.readTag();
            int wireType = tag & 7;
            ProtobufField field = message.find(tag >>> 3, next);
            boolean isPacked = false;
            if (field != null) {
                next = field.isRepeated ? field.index : field.index + 1;
                isPacked = field.isPackable && wireType == WireFormat.WIRETYPE_LENGTH_DELIMITED;
            }
            if (field == null || field.wireType != wireType && !isPacked) { // the latter is like an unknown field
                in.path = "";
                in.skip(tag);
                hasUnknown = true;
                continue;
            }
            in.path = field.path;
            boolean isReplaced = field.oneof >= 0 && chosen[field.oneof] != null && chosen[field.oneof] != field;
            boolean isMerged = field.isMergeable && values[field.column] != null;
            if (!in.isCopy && (isReplaced || isMerged)) throw new NotCanonical();
            boolean isKnown = field.isRepeated ? readElements(field, isPacked, values, in)
                : field.column < 0 ? skip(field, tag, in) : readSingle(field, values, in);
            if (isKnown && field.oneof >= 0) chosen[field.oneof] = field;
            if (isKnown && isSeen != null) isSeen[field.index] = true;
            hasUnknown |= !isKnown;
            hasUnknownNumber |= !isKnown;
        }
        for (int i = message.fields.length - 1; isSeen != null && i >= 0; i--) {
            ProtobufField field = message.fields[i];
            if (!field.descriptor.isRequired() || isSeen[i]) continue;
            throw in.failure("Message missing required field", field.path, in.stream.getTotalBytesRead());
        }
        complete(message, values, in);
        in.hasUnknown = hasUnknown;
        in.hasUnknownNumber = hasUnknownNumber;
        return values;
    }

    /** Returns whether a field without a column counts as one of its oneof. */
    private static boolean skip(ProtobufField field, int tag, ProtobufInput in) throws IOException {
        if (in.isCopy && field.isClosedEnum()) return field.isKnown(in.stream.readRawVarint32());
        in.skip(tag);
        return true;
    }

    /** Reads a field. Returns false for a number that its closed enum does not have. */
    private boolean readSingle(ProtobufField field, Object[] values, ProtobufInput in) throws IOException {
        Object value = readValue(field, in);
        if (value != null) values[field.column] = value;
        return value != null;
    }

    private boolean readElements(ProtobufField field, boolean isPacked, Object[] values, ProtobufInput in)
        throws IOException {
        if (field.kind == ProtobufField.Kind.MAP) {
            readEntry(field, values, in);
            return true;
        }
        if (!isPacked) {
            addElement(field, values, in);
            return true;
        }
        int limit = in.stream.pushLimit(in.readLength());
        while (!in.stream.isAtEnd()) addElement(field, values, in);
        in.stream.popLimit(limit);
        return true;
    }

    @SuppressWarnings("unchecked")
    private void addElement(ProtobufField field, Object[] values, ProtobufInput in) throws IOException {
        Object element = readValue(field, in);
        if (element == null) return;
        if (values[field.column] == null) values[field.column] = new ArrayList<>();
        ((List<Object>) values[field.column]).add(element);
    }

    /** Reads an entry of a MAP. One with a number that its enum does not have counts as an unknown field. */
    @SuppressWarnings("unchecked")
    private void readEntry(ProtobufField field, Object[] values, ProtobufInput in) throws IOException {
        Object[] entry = readNested(field, in);
        // as protobuf's library for Python, which also sorts the keys
        if (in.hasUnknownNumber || in.isCopy && in.hasUnknown) return;
        if (values[field.column] == null) {
            values[field.column] = in.isCopy ? new TreeMap<>(ProtobufKeys.ORDER) : new LinkedHashMap<>();
        }
        ((Map<Object, Object>) values[field.column]).put(entry[0], entry[1]);
    }

    private Object[] readNested(ProtobufField field, ProtobufInput in) throws IOException {
        int limit = in.stream.pushLimit(in.readLength());
        Object[] values = readFields(field.message, in);
        in.stream.popLimit(limit);
        return values;
    }

    private Object readValue(ProtobufField field, ProtobufInput in) throws IOException {
        return switch (field.kind) {
            case SCALAR -> field.read(in);
            case JSON -> toJson(field, in.stream.readRawBytes(in.readLength()), in);
            default -> toValue(field, readNested(field, in), in);
        };
    }

    /** Returns the value of a message with these values. */
    private static Object toValue(ProtobufField field, Object[] values, ProtobufInput in) {
        return switch (field.kind) {
            case WRAPPER -> values[0];
            case TIMESTAMP -> toTimestamp(field, (Long) values[0], (Integer) values[1], in);
            default -> new GenericInternalRow(values);
        };
    }

    private static Long toTimestamp(ProtobufField field, long seconds, int nanos, ProtobufInput in) {
        if (Math.abs((double) seconds) > MAX_SECONDS) {
            in.report(field.position, "is a Timestamp out of range: " + seconds + " seconds", field.valuePath());
        }
        return seconds * 1000000 + Math.floorDiv(nanos, 1000);
    }

    private static UTF8String toJson(ProtobufField field, byte[] message, ProtobufInput in) {
        try {
            return ProtobufJson.toJson(field.descriptor.getMessageType(), message);
        } catch (IOException e) {
            in.report(field.position, "a nested message is malformed: " + e.getMessage(), field.valuePath());
            return UTF8String.EMPTY_UTF8;
        }
    }

    /** Fills in absent fields, and converts repeated ones. */
    private void complete(ProtobufMessage message, Object[] values, ProtobufInput in) {
        for (ProtobufField field : message.byColumn) {
            if (field == null) continue;
            Object value = values[field.column];
            if (field.isRepeated) value = toElements(field, value);
            else if (value == null) value = absent(field, in);
            values[field.column] = value;
        }
        for (ProtobufMessage.NotNull column : message.notNull) {
            if (values[column.column()] != null) continue;
            in.report(NULL_RANK + column.position(), "is null, but declared NOT NULL", column.path());
        }
    }

    private Object absent(ProtobufField field, ProtobufInput in) {
        if (!field.readsDefault || field.kind == ProtobufField.Kind.SCALAR) return field.absent;
        if (field.kind == ProtobufField.Kind.JSON) return toJson(field, new byte[0], in);
        Object[] values = new Object[field.message.byColumn.length];
        complete(field.message, values, in);
        return toValue(field, values, in);
    }

    @SuppressWarnings("unchecked")
    private Object toElements(ProtobufField field, Object value) {
        if (value == null && !readsDefaults) return null;
        if (field.kind == ProtobufField.Kind.MAP) {
            Map<Object, Object> entries = value == null ? Map.of() : (Map<Object, Object>) value;
            return new ArrayBasedMapData(
                new GenericArrayData(entries.keySet().toArray()), new GenericArrayData(entries.values().toArray()));
        }
        return new GenericArrayData(value == null ? new Object[0] : ((List<Object>) value).toArray());
    }
}
