package io.github.kafkasql.formats.protobuf;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.ListValue;
import com.google.protobuf.Message;
import com.google.protobuf.NullValue;
import com.google.protobuf.Struct;
import com.google.protobuf.Value;
import io.github.kafkasql.formats.PayloadParser;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.MathContext;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts messages of google.protobuf.Struct, Value and ListValue to JSON and back, as protobuf's Python library. */
final class ProtobufJson {
    private static final JsonFactory JSON = JsonFactory.builder()
        .streamReadConstraints(PayloadParser.CONSTRAINTS)
        .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
        .enable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS)
        .build();

    /** Returns a message's JSON, with its keys in order. Throws IOException with the reason if there is none. */
    static UTF8String toJson(Descriptor type, byte[] message) throws IOException {
        StringBuilder out = new StringBuilder();
        DynamicMessage parsed;
        try {
            parsed = DynamicMessage.parseFrom(type, message);
        } catch (InvalidProtocolBufferException e) {
            throw new IOException("Error parsing message with type '" + type.getFullName() + "'");
        }
        write(parsed, out);
        return UTF8String.fromString(out.toString());
    }

    private static void write(Message message, StringBuilder out) throws IOException {
        Descriptor type = message.getDescriptorForType();
        switch (type.getName()) {
            case "Struct" -> writeStruct(message.getField(type.findFieldByNumber(1)), out);
            case "ListValue" -> writeList(message.getField(type.findFieldByNumber(1)), out);
            default -> writeValue(message, message.getOneofFieldDescriptor(type.getOneofs().get(0)), out);
        }
    }

    private static void writeStruct(Object entries, StringBuilder out) throws IOException {
        Map<UTF8String, Message> fields = new TreeMap<>();
        for (Object element : (List<?>) entries) {
            Message entry = (Message) element;
            Descriptor type = entry.getDescriptorForType();
            Object key = entry.getField(type.findFieldByNumber(1));
            boolean isDropped = !entry.getUnknownFields().asMap().isEmpty(); // as by protobuf's library for Python
            if (isDropped) continue;
            fields.put(UTF8String.fromString((String) key), (Message) entry.getField(type.findFieldByNumber(2)));
        }
        String separator = "";
        out.append('{');
        for (Map.Entry<UTF8String, Message> field : fields.entrySet()) {
            out.append(separator);
            quote(field.getKey().toString(), out);
            out.append(": ");
            write(field.getValue(), out);
            separator = ", ";
        }
        out.append('}');
    }

    private static void writeList(Object elements, StringBuilder out) throws IOException {
        String separator = "";
        out.append('[');
        for (Object element : (List<?>) elements) {
            out.append(separator);
            write((Message) element, out);
            separator = ", ";
        }
        out.append(']');
    }

    private static void writeValue(Message value, FieldDescriptor kind, StringBuilder out) throws IOException {
        Object content = kind == null ? null : value.getField(kind);
        if (content instanceof Message message) write(message, out);
        else if (content instanceof String text) quote(text, out);
        else if (content instanceof Double number) writeNumber(number, out);
        else out.append(content instanceof Boolean ? content.toString() : "null");
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
    private static void writeNumber(double number, StringBuilder out) throws IOException {
        if (Double.isNaN(number) || Double.isInfinite(number)) {
            String name = Double.isNaN(number) ? "NaN" : "Infinity";
            throw new IOException(
                "Fail to serialize " + name + " for Value.number_value, which would parse as string_value");
        }
        if (number == 0) {
            out.append(number);
            return;
        }
        BigDecimal shortest = shortest(number).stripTrailingZeros();
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (exponent >= -4 && exponent < 16) {
            String plain = shortest.toPlainString();
            out.append(plain).append(plain.indexOf('.') < 0 ? ".0" : "");
            return;
        }
        out.append(shortest.movePointLeft(exponent).toPlainString());
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

    /** Returns a message. Throws IOException with the reason if the text is not the message's JSON. */
    static Message toMessage(Descriptor type, String json) throws IOException {
        try (JsonParser in = JSON.createParser(json)) {
            Value value = readValue(in, in.nextToken());
            if (in.nextToken() != null) throw new IOException("Failed to load JSON: there is text after the value");
            if (type.getName().equals("Value")) return value;
            if (type.getName().equals("Struct")) {
                if (!value.hasStructValue()) throw new IOException("Struct must be an object");
                return value.getStructValue();
            }
            if (!value.hasListValue()) throw new IOException("ListValue must be an array");
            return value.getListValue();
        } catch (JsonProcessingException e) {
            throw new IOException("Failed to load JSON: " + e.getOriginalMessage());
        }
    }

    private static Value readValue(JsonParser in, JsonToken token) throws IOException {
        if (token == null) throw new IOException("Failed to load JSON: the text ends before the value does");
        Value.Builder value = Value.newBuilder();
        return switch (token) {
            case START_OBJECT -> value.setStructValue(readStruct(in)).build();
            case START_ARRAY -> value.setListValue(readList(in)).build();
            case VALUE_STRING -> value.setStringValue(checkText(in.getText())).build();
            case VALUE_TRUE, VALUE_FALSE -> value.setBoolValue(token == JsonToken.VALUE_TRUE).build();
            case VALUE_NULL -> value.setNullValue(NullValue.NULL_VALUE).build();
            default -> value.setNumberValue(toDouble(in.getText(), token)).build();
        };
    }

    private static Struct readStruct(JsonParser in) throws IOException {
        Map<UTF8String, Value> fields = new TreeMap<>(ProtobufKeys.ORDER);
        for (String key; (key = in.nextFieldName()) != null; ) {
            fields.put(UTF8String.fromString(checkText(key)), readValue(in, in.nextToken()));
        }
        Struct.Builder struct = Struct.newBuilder(); // keeps the order
        fields.forEach((key, value) -> struct.putFields(key.toString(), value));
        return struct.build();
    }

    private static ListValue readList(JsonParser in) throws IOException {
        ListValue.Builder list = ListValue.newBuilder();
        for (JsonToken token; (token = in.nextToken()) != JsonToken.END_ARRAY; ) list.addValues(readValue(in, token));
        return list.build();
    }

    private static double toDouble(String text, JsonToken token) throws IOException {
        boolean isIntegral = token == JsonToken.VALUE_NUMBER_INT;
        if (text.contains("INF")) throw new IOException("Failed to load JSON: unexpected " + text);
        double number = Double.parseDouble(text);
        if (isIntegral && Double.isInfinite(number)) throw new IOException("an integer is too large");
        return number == 0 && isIntegral ? 0.0 : number; // Python has no integer -0
    }

    private static String checkText(String text) throws IOException {
        boolean hasSurrogate = text.codePoints().anyMatch(c -> c >>> 11 == Character.MIN_SURROGATE >>> 11); // unpaired
        if (hasSurrogate) throw new IOException("surrogates are not allowed");
        return text;
    }

    private ProtobufJson() {}
}
