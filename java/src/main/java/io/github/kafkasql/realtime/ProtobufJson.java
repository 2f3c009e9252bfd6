package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.Mismatch;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts messages of google.protobuf.Struct, Value and ListValue to JSON and back, as protobuf's Python library. */
final class ProtobufJson {
    private static final int MAX_DEPTH = 100; // of messages in messages, as in protobuf's libraries
    private static final int NULL = 1; // numbers of the fields of a Value
    private static final int NUMBER = 2;
    private static final int STRING = 3;
    private static final int BOOLEAN = 4;
    private static final int STRUCT = 5;
    private static final int LIST = 6;
    private static final String STRUCT_NAME = "google.protobuf.Struct";
    private static final String LIST_NAME = "google.protobuf.ListValue";

    /** A Value: a TreeMap of Values by UTF8String, a List of Values, a UTF8String, a Double, a Boolean or null. */
    private static final class Value {
        Object content;
    }

    /** Returns a message's JSON, with its keys in order. payload: what the message is in. */
    static UTF8String toJson(ProtobufField field, byte[] message, ProtobufInput payload) {
        String name = field.messageName;
        Value value = new Value();
        try {
            ProtobufInput in = new ProtobufInput(message, 0, name);
            if (name.equals(STRUCT_NAME)) readStruct(newStruct(value), in, message.length, 0);
            else if (name.equals(LIST_NAME)) readList(newList(value), in, message.length, 0);
            else readValue(value, in, message.length, 0);
        } catch (Mismatch e) {
            if (payload.isMerged) throw payload.failure("", "", -1);
            throw malformed("Error parsing message with type '" + name + "'").withPrefix(field.valuePath());
        }
        StringBuilder out = new StringBuilder();
        try {
            write(value.content, out);
        } catch (Mismatch e) {
            throw e.withPrefix(field.valuePath());
        }
        return UTF8String.fromString(out.toString());
    }

    private static Mismatch malformed(String reason) {
        return new Mismatch("a nested message is malformed: " + reason, "", false);
    }

    private static Map newStruct(Value value) {
        if (!(value.content instanceof Map)) value.content = new TreeMap();
        return (Map) value.content;
    }

    private static List newList(Value value) {
        if (!(value.content instanceof List)) value.content = new ArrayList();
        return (List) value.content;
    }

    /** Returns a tag. */
    private static int readTag(ProtobufInput in, int end, int depth) {
        int tag = (int) in.readVarint(end);
        if (depth > MAX_DEPTH || tag >>> 3 == 0) throw in.invalidTag(-1);
        return tag;
    }

    private static int tag(int number, int wireType) {
        return number << 3 | wireType;
    }

    private static void readStruct(Map fields, ProtobufInput in, int end, int depth) {
        while (in.position < end) {
            int tag = readTag(in, end, depth);
            if (tag == tag(1, ProtobufInput.LEN)) readEntry(fields, in, in.readEnd(end), depth + 1);
            else in.skip(tag >>> 3, tag & 7, end);
        }
        checkDepth(in, depth);
    }

    private static void checkDepth(ProtobufInput in, int depth) {
        if (depth > MAX_DEPTH) throw in.invalidTag(-1);
    }

    private static void readEntry(Map fields, ProtobufInput in, int end, int depth) {
        UTF8String key = UTF8String.EMPTY_UTF8;
        Value value = new Value();
        boolean hasUnknown = false;
        while (in.position < end) {
            int tag = readTag(in, end, depth);
            boolean isKey = tag == tag(1, ProtobufInput.LEN);
            boolean isValue = tag == tag(2, ProtobufInput.LEN);
            hasUnknown |= !isKey && !isValue;
            if (isKey) key = readString(in, in.readEnd(end));
            else if (isValue) readValue(value, in, in.readEnd(end), depth + 1);
            else in.skip(tag >>> 3, tag & 7, end);
        }
        checkDepth(in, depth);
        if (!hasUnknown) fields.put(key, value); // as protobuf's library for Python
    }

    private static void readList(List elements, ProtobufInput in, int end, int depth) {
        while (in.position < end) {
            int tag = readTag(in, end, depth);
            if (tag == tag(1, ProtobufInput.LEN)) {
                Value element = new Value();
                elements.add(element);
                readValue(element, in, in.readEnd(end), depth + 1);
            } else {
                in.skip(tag >>> 3, tag & 7, end);
            }
        }
        checkDepth(in, depth);
    }

    private static void readValue(Value value, ProtobufInput in, int end, int depth) {
        while (in.position < end) {
            int tag = readTag(in, end, depth);
            if (tag == tag(NULL, ProtobufInput.VARINT)) {
                in.readVarint(end);
                value.content = null;
            } else if (tag == tag(NUMBER, ProtobufInput.I64)) {
                value.content = Double.valueOf(Double.longBitsToDouble(in.readFixed64(end)));
            } else if (tag == tag(STRING, ProtobufInput.LEN)) {
                value.content = readString(in, in.readEnd(end));
            } else if (tag == tag(BOOLEAN, ProtobufInput.VARINT)) {
                value.content = Boolean.valueOf(in.readVarint(end) != 0);
            } else if (tag == tag(STRUCT, ProtobufInput.LEN)) {
                readStruct(newStruct(value), in, in.readEnd(end), depth + 1);
            } else if (tag == tag(LIST, ProtobufInput.LEN)) {
                readList(newList(value), in, in.readEnd(end), depth + 1);
            } else {
                in.skip(tag >>> 3, tag & 7, end);
            }
        }
        checkDepth(in, depth);
    }

    private static UTF8String readString(ProtobufInput in, int end) {
        UTF8String text = UTF8String.fromBytes(in.readBytes(end));
        if (!text.isValid()) throw in.invalidTag(-1);
        return text;
    }

    private static void write(Object content, StringBuilder out) {
        if (content instanceof Map) {
            String separator = "{";
            for (Iterator i = ((Map) content).entrySet().iterator(); i.hasNext(); separator = ", ") {
                Map.Entry entry = (Map.Entry) i.next();
                out.append(separator);
                quote(entry.getKey().toString(), out);
                out.append(": ");
                write(((Value) entry.getValue()).content, out);
            }
            out.append(((Map) content).isEmpty() ? "{}" : "}");
        } else if (content instanceof List) {
            String separator = "[";
            for (Iterator i = ((List) content).iterator(); i.hasNext(); separator = ", ") {
                out.append(separator);
                write(((Value) i.next()).content, out);
            }
            out.append(((List) content).isEmpty() ? "[]" : "]");
        } else if (content instanceof UTF8String) {
            quote(content.toString(), out);
        } else if (content instanceof Double) {
            writeNumber(((Double) content).doubleValue(), out);
        } else {
            out.append(String.valueOf(content));
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            int escape = "\"\\\b\t\n\f\r".indexOf(c);
            if (escape >= 0) out.append('\\').append("\"\\btnfr".charAt(escape));
            else if (c >= ' ') out.append(c);
            else out.append(c < 16 ? "\\u000" : "\\u00").append(Integer.toHexString(c));
        }
        out.append('"');
    }

    /** Writes a number in Python's form: 1.0, 1e-05, 1e+16. */
    private static void writeNumber(double number, StringBuilder out) {
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            String name = Double.isNaN(number) ? "NaN" : "Infinity";
            throw malformed("Fail to serialize " + name + " for Value.number_value, which would parse as string_value");
        }
        if (number == 0) {
            out.append(Double.toString(number));
            return;
        }
        BigDecimal shortest = shortest(number).stripTrailingZeros();
        String digits = shortest.unscaledValue().abs().toString();
        int exponent = digits.length() - 1 - shortest.scale();
        if (number < 0) out.append('-');
        if (exponent >= -4 && exponent < 16) {
            String plain = shortest.abs().toPlainString();
            out.append(plain).append(plain.indexOf('.') < 0 ? ".0" : "");
            return;
        }
        out.append(digits.charAt(0));
        if (digits.length() > 1) out.append('.').append(digits, 1, digits.length());
        out.append(exponent < 0 ? "e-" : "e+").append(Math.abs(exponent) < 10 ? "0" : "").append(Math.abs(exponent));
    }

    /** Returns the number with the fewest digits that is read as this one; Java 17 may write one digit more. */
    private static BigDecimal shortest(double number) {
        BigDecimal exact = new BigDecimal(number);
        BigDecimal shortest = new BigDecimal(Double.toString(number));
        for (int digits = shortest.stripTrailingZeros().precision() - 1; digits > 0; digits--) {
            BigDecimal shorter = exact.round(new MathContext(digits));
            if (shorter.doubleValue() != number) break;
            shortest = shorter;
        }
        return shortest;
    }

    /** Returns a serialized message. Throws IllegalArgumentException with the reason if it is not the message's JSON. */
    static byte[] toMessage(String name, String json) {
        Object value;
        try {
            value = JsonDocument.parseText(json);
        } catch (IOException e) {
            throw new IllegalArgumentException("Failed to load JSON: " + String.valueOf(e.getMessage()).split("\n")[0]);
        }
        ProtobufOutput out = new ProtobufOutput();
        if (name.equals(STRUCT_NAME)) {
            if (!(value instanceof Map)) throw new IllegalArgumentException("Struct must be an object");
            writeStruct((Map) value, out);
        } else if (name.equals(LIST_NAME)) {
            if (!(value instanceof List)) throw new IllegalArgumentException("ListValue must be an array");
            writeList((List) value, out);
        } else {
            writeValue(value, out);
        }
        return out.toBytes();
    }

    private static void writeStruct(Map fields, ProtobufOutput out) {
        TreeMap sorted = new TreeMap(new ProtobufKeyOrder().reversed());
        for (Iterator i = fields.entrySet().iterator(); i.hasNext(); ) {
            Map.Entry entry = (Map.Entry) i.next();
            sorted.put(UTF8String.fromBytes(encode((String) entry.getKey())), entry);
        }
        for (Iterator i = sorted.entrySet().iterator(); i.hasNext(); ) {
            Map.Entry entry = (Map.Entry) i.next();
            int entrySize = out.size();
            writeValue(((Map.Entry) entry.getValue()).getValue(), out);
            out.writeHeader(entrySize, tag(2, ProtobufInput.LEN));
            out.writeBytes(((UTF8String) entry.getKey()).getBytes());
            out.writeVarint(tag(1, ProtobufInput.LEN));
            out.writeHeader(entrySize, tag(1, ProtobufInput.LEN));
        }
    }

    private static void writeList(List elements, ProtobufOutput out) {
        for (int i = elements.size() - 1; i >= 0; i--) {
            int elementSize = out.size();
            writeValue(elements.get(i), out);
            out.writeHeader(elementSize, tag(1, ProtobufInput.LEN));
        }
    }

    private static void writeValue(Object value, ProtobufOutput out) {
        int valueSize = out.size();
        if (value instanceof Map) {
            writeStruct((Map) value, out);
            out.writeHeader(valueSize, tag(STRUCT, ProtobufInput.LEN));
        } else if (value instanceof List) {
            writeList((List) value, out);
            out.writeHeader(valueSize, tag(LIST, ProtobufInput.LEN));
        } else if (value instanceof String) {
            out.writeBytes(encode((String) value));
            out.writeVarint(tag(STRING, ProtobufInput.LEN));
        } else if (value instanceof JsonDocument.Number) {
            out.writeFixed(Double.doubleToRawLongBits(parseNumber((JsonDocument.Number) value)), 8);
            out.writeVarint(tag(NUMBER, ProtobufInput.I64));
        } else if (value instanceof Boolean) {
            out.writeVarint(value.equals(Boolean.TRUE) ? 1 : 0);
            out.writeVarint(tag(BOOLEAN, ProtobufInput.VARINT));
        } else {
            out.writeVarint(0);
            out.writeVarint(tag(NULL, ProtobufInput.VARINT));
        }
    }

    private static double parseNumber(JsonDocument.Number number) {
        double value = Double.parseDouble(number.text); // IllegalArgumentException for INF
        if (number.isIntegral && Double.isInfinite(value)) throw new IllegalArgumentException("an integer is too large");
        return value == 0 && number.isIntegral ? 0.0 : value; // Python has no integer -0
    }

    private static byte[] encode(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (!Character.isSurrogate(text.charAt(i))) continue;
            if (i + 1 == text.length() || !Character.isSurrogatePair(text.charAt(i), text.charAt(i + 1))) {
                throw new IllegalArgumentException("surrogates are not allowed");
            }
            i++;
        }
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private ProtobufJson() {}
}
