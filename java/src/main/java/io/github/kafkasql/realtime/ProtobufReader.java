package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.Mismatch;
import java.io.ByteArrayOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes messages of one type to rows.
 *
 * <p>Occurrences of a field are merged as in protobuf's libraries: the last value and the last field of a oneof count,
 * messages are merged, elements are appended.
 */
final class ProtobufReader implements Serializable {
    private static final double MAX_SECONDS = Long.MAX_VALUE / 1000000 - 1; // of a timestamp

    private final ProtobufMessage message;
    private final boolean readsDefaults;

    /** plan: see kafka_sql/realtime/protobuf_plans.py. */
    ProtobufReader(StructType type, Map plan) {
        this.message = new ProtobufMessage((Map) plan.get("message"), type);
        this.readsDefaults = plan.get("read_defaults").equals(Boolean.TRUE);
    }

    /** The fields of a message that have been read; null for an absent one. A repeated field is a List. */
    private static final class Values {
        final ProtobufMessage message;
        final Object[] values;
        final int[] oneofs; // per oneof, the index of the field that it has, plus 1
        boolean hasUnknown; // whether it has other fields, or numbers that their enum does not have
        boolean hasUnknownNumber;

        Values(ProtobufMessage message) {
            this.message = message;
            this.values = new Object[message.fields.length];
            this.oneofs = message.oneofCount == 0 ? null : new int[message.oneofCount];
        }

        /** Returns whether another field of the field's oneof has been read. */
        boolean replaces(ProtobufField field) {
            return field.oneof >= 0 && oneofs[field.oneof] != 0 && oneofs[field.oneof] != field.index + 1;
        }

        /** Removes the other field of the field's oneof. */
        void choose(ProtobufField field) {
            if (field.oneof < 0) return;
            if (replaces(field)) values[oneofs[field.oneof] - 1] = null;
            oneofs[field.oneof] = field.index + 1;
        }
    }

    /** Decodes a payload after its header. Throws Mismatch if it is malformed. */
    GenericInternalRow read(byte[] payload, int headerSize) {
        ProtobufInput in = new ProtobufInput(payload, headerSize, message.name);
        Values values = new Values(message);
        readMessage(values, in, payload.length);
        if (in.isMerged) checkRequired(values, in);
        NullColumn nullColumn = new NullColumn();
        GenericInternalRow row = toRow(values, in, nullColumn);
        if (nullColumn.first != null) throw new Mismatch("is null, but declared NOT NULL", nullColumn.first.path, false);
        return row;
    }

    /** The first column that is null, but declared NOT NULL. */
    private static final class NullColumn {
        ProtobufMessage.NotNull first;

        void add(ProtobufMessage.NotNull column) {
            if (first == null || column.position < first.position) first = column;
        }
    }

    private static void readMessage(Values out, ProtobufInput in, int end) {
        ProtobufMessage message = out.message;
        int next = 0;
        while (in.position < end) {
            int tag = (int) in.readVarint(end);
            int number = tag >>> 3;
            int wireType = tag & 7;
            if (number == 0 || wireType == ProtobufInput.EGROUP) throw in.invalidTag(in.position);
            int index = message.find(number, next);
            ProtobufField field = index < 0 ? null : message.fields[index];
            boolean isPacked = false;
            if (field != null) {
                next = field.isRepeated ? index : index + 1;
                isPacked = field.isRepeated && wireType == ProtobufInput.LEN && field.opcode < ProtobufField.BYTES;
                if (field.wireType != wireType && !isPacked) field = null; // like an unknown field
            }
            in.path = field == null ? "" : field.path;
            if (field == null) {
                out.hasUnknown = true;
                in.skip(number, wireType, end);
            } else if (field.column < 0) {
                readUnmapped(field, wireType, out, in, end);
            } else if (field.isRepeated) {
                readElements(field, isPacked, out.values, in, end);
            } else {
                readSingle(field, out, in, end);
            }
        }
        if (in.isMerged) return; // another occurrence may have the field
        ProtobufField missing = missingField(out);
        if (missing != null) throw in.missingField(missing.path, in.position);
    }

    private static ProtobufField missingField(Values values) {
        ProtobufField[] required = values.message.required;
        for (int i = required.length - 1; i >= 0; i--) {
            if (values.values[required[i].index] == null) return required[i];
        }
        return null;
    }

    /** Checks a merged message. */
    private static void checkRequired(Values values, ProtobufInput in) {
        for (int i = 0; i < values.values.length; i++) {
            if (!values.message.fields[i].isMessage() || values.values[i] == null) continue;
            List messages =
                values.values[i] instanceof List ? (List) values.values[i] : Arrays.asList(new Object[] {values.values[i]});
            for (int k = 0; k < messages.size(); k++) {
                Values nested = (Values) messages.get(k);
                if (!isDropped(nested, values.message.fields[i], in)) checkRequired(nested, in);
            }
        }
        ProtobufField missing = missingField(values);
        if (missing != null) throw in.missingField(missing.path, -1);
    }

    /** Returns whether an entry of a MAP is dropped when messages are merged, as in protobuf's library for Python. */
    private static boolean isDropped(Values entry, ProtobufField field, ProtobufInput in) {
        return in.isMerged && field.isMap && entry.hasUnknown;
    }

    /** Reads a field without a column, which is required or in a oneof. */
    private static void readUnmapped(ProtobufField field, int wireType, Values out, ProtobufInput in, int end) {
        boolean replaces = out.replaces(field);
        in.isMerged |= replaces;
        boolean isKnown = true;
        if (field.isClosedEnum()) isKnown = field.isKnown(in.readVarint(end));
        else in.skip(field.number, wireType, end);
        if (replaces && !isKnown) return;
        out.choose(field);
        out.values[field.index] = Boolean.TRUE;
    }

    private static void readElements(
        ProtobufField field, boolean isPacked, Object[] values, ProtobufInput in, int end) {
        if (field.isMessage()) {
            int stop = in.readEnd(end);
            Values element = new Values(field.message);
            readMessage(element, in, stop);
            // of a map, an entry whose value its enum does not have counts as an unknown field
            if (!field.isMap || !element.hasUnknownNumber) elements(field, values).add(element);
            return;
        }
        int stop = isPacked ? in.readEnd(end) : end;
        while (!isPacked || in.position < stop) {
            Object element = field.read(in, stop);
            if (element != null) elements(field, values).add(element);
            if (!isPacked) return;
        }
    }

    private static List elements(ProtobufField field, Object[] values) {
        List elements = (List) values[field.index];
        if (elements == null) values[field.index] = elements = new ArrayList();
        return elements;
    }

    private static void readSingle(ProtobufField field, Values out, ProtobufInput in, int end) {
        int index = field.index;
        Object[] values = out.values;
        boolean replaces = out.replaces(field);
        boolean isMergeable = field.isMessage() || field.isJson;
        in.isMerged |= replaces || isMergeable && values[index] != null;
        if (field.isMessage()) {
            int stop = in.readEnd(end);
            out.choose(field);
            if (values[index] == null) values[index] = new Values(field.message);
            readMessage((Values) values[index], in, stop);
            return;
        }
        Object value = field.read(in, end);
        if (value == null) { // a number that the enum does not have
            out.hasUnknown = out.hasUnknownNumber = true;
            return;
        }
        out.choose(field);
        values[index] = field.isJson && values[index] != null ? append(values[index], (byte[]) value) : value;
    }

    /** Returns the bytes of several occurrences of a message. */
    private static ByteArrayOutputStream append(Object first, byte[] next) {
        ByteArrayOutputStream all;
        if (first instanceof ByteArrayOutputStream) {
            all = (ByteArrayOutputStream) first;
        } else {
            all = new ByteArrayOutputStream();
            all.write((byte[]) first, 0, ((byte[]) first).length);
        }
        all.write(next, 0, next.length);
        return all;
    }

    private GenericInternalRow toRow(Values values, ProtobufInput in, NullColumn nullColumn) {
        ProtobufMessage message = values.message;
        Object[] row = new Object[message.byColumn.length];
        for (int i = 0; i < row.length; i++) {
            ProtobufField field = message.byColumn[i];
            if (field == null) continue;
            Object value = values.values[field.index];
            row[i] = field.isRepeated ? toElements(field, (List) value, in, nullColumn) : toValue(field, value, in, nullColumn);
        }
        for (int i = 0; i < message.notNull.length; i++) {
            if (row[message.notNull[i].column] == null) nullColumn.add(message.notNull[i]);
        }
        return new GenericInternalRow(row);
    }

    /** Returns the value of a field that is not repeated, or of an element. value: null if it is absent. */
    private Object toValue(ProtobufField field, Object value, ProtobufInput in, NullColumn nullColumn) {
        if (value == null && (!field.readsDefault || !field.isMessage() && !field.isJson)) return field.absent();
        if (field.isJson) return ProtobufJson.toJson(field, bytes(value), in);
        if (!field.isMessage()) return value;
        Values values = value == null ? new Values(field.message) : (Values) value;
        GenericInternalRow row = toRow(values, in, nullColumn);
        if (field.isTimestamp) return timestamp(field, row.getLong(0), row.getInt(1));
        return field.isWrapper ? row.values()[0] : row;
    }

    private static Long timestamp(ProtobufField field, long seconds, int nanos) {
        if (Math.abs((double) seconds) > MAX_SECONDS) {
            throw new Mismatch("is a Timestamp out of range: " + seconds + " seconds", field.valuePath(), false);
        }
        return Long.valueOf(seconds * 1000000 + Math.floorDiv(nanos, 1000));
    }

    private static byte[] bytes(Object value) {
        if (value == null) return new byte[0];
        return value instanceof byte[] ? (byte[]) value : ((ByteArrayOutputStream) value).toByteArray();
    }

    private Object toElements(ProtobufField field, List elements, ProtobufInput in, NullColumn nullColumn) {
        if (elements == null) {
            if (!readsDefaults) return null;
            elements = new ArrayList(0);
        }
        if (field.isMap) return toMap(field, elements, in, nullColumn);
        Object[] values = elements.toArray();
        if (field.isMessage() || field.isJson) {
            for (int i = 0; i < values.length; i++) values[i] = toValue(field, values[i], in, nullColumn);
        }
        return new GenericArrayData(values);
    }

    /** Returns a map; of repeated keys, it has the last value at the position of the first. */
    private Object toMap(ProtobufField field, List elements, ProtobufInput in, NullColumn nullColumn) {
        Map map = in.isMerged ? (Map) new TreeMap(new ProtobufKeyOrder()) : new LinkedHashMap(); // as in Python
        for (int i = 0; i < elements.size(); i++) {
            Values values = (Values) elements.get(i);
            if (isDropped(values, field, in)) continue;
            Object[] entry = toRow(values, in, nullColumn).values();
            map.put(entry[0], entry[1]);
        }
        return map.isEmpty() && !readsDefaults ? null : RowBuilder.toMapData(map);
    }
}
