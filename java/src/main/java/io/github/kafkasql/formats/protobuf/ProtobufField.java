package io.github.kafkasql.formats.protobuf;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.DescriptorProtos.FeatureSet;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.OneofDescriptor;
import com.google.protobuf.WireFormat;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A field of a message, and the column that it is converted to and from.
 *
 * <p>The rules are those of kafka_sql/formats/protobuf/field_mapping.py. Python has checked that the types match.
 */
final class ProtobufField {
    private static final StructType SECONDS_AND_NANOS =
        new StructType().add("seconds", DataTypes.LongType).add("nanos", DataTypes.IntegerType);
    private static final Set<String> JSON_TYPES =
        Set.of("google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue");
    private static final UTF8String UNRECOGNIZED = UTF8String.fromString("UNRECOGNIZED");

    /** What a value, or an element of an ARRAY, is. */
    enum Kind { SCALAR, ROW, MAP, WRAPPER, TIMESTAMP, JSON, UNMAPPED }

    final FieldDescriptor descriptor;
    final int number;
    final boolean isRepeated;
    final boolean isPackable;
    final boolean isMergeable; // if it occurs repeatedly
    final int wireType; // of a value that is not packed
    final int oneof; // -1 if it is in none with several fields
    final int column; // -1 if it has none
    final int position; // of the column, see ProtobufMessage.Columns
    final String path;
    final DataType type; // of the column; of an ARRAY that of its elements
    final Kind kind;
    final boolean readsDefault; // if it is absent
    private final boolean mustBeUtf8;
    final ProtobufMessage message; // of a ROW, Timestamp or wrapper, or an entry of a MAP
    final Object absent; // the value of an absent scalar
    int index; // in its message
    private final Map<Integer, Object> symbols = new HashMap<>(); // of an enum: the column's values by number

    /** A field without a column. */
    ProtobufField(FieldDescriptor descriptor) {
        this(descriptor, -1, descriptor.getName(), null, new ProtobufMessage.Columns(false));
    }

    ProtobufField(
        FieldDescriptor descriptor, int column, String path, DataType columnType, ProtobufMessage.Columns columns) {
        this.descriptor = descriptor;
        this.number = descriptor.getNumber();
        this.wireType = wireType(descriptor);
        OneofDescriptor oneof = descriptor.getContainingOneof();
        this.oneof = oneof == null || oneof.getFieldCount() == 1 ? -1 : oneof.getIndex();
        this.column = column;
        this.position = columns.count;
        this.path = path;
        this.type = columnType instanceof ArrayType array ? array.elementType() : columnType;
        this.kind = kind();
        boolean isInMap = descriptor.getContainingType().getOptions().getMapEntry();
        this.readsDefault = isInMap || columns.readsDefaults && (kind == Kind.SCALAR || kind == Kind.ROW);
        this.mustBeUtf8 = isInMap ? mustBeUtf8(descriptor) : descriptor.needsUtf8Check();
        this.message = createMessage(columns);
        this.isRepeated = descriptor.isRepeated();
        this.isPackable = descriptor.isPackable();
        this.isMergeable = !isRepeated && (message != null || kind == Kind.JSON);
        if (descriptor.getJavaType() == FieldDescriptor.JavaType.ENUM) {
            for (EnumValueDescriptor value : descriptor.getEnumType().getValues()) {
                symbols.putIfAbsent(value.getNumber(), symbol(value)); // the first of several names
            }
        }
        boolean isNull = kind != Kind.SCALAR || isRepeated || descriptor.hasPresence() && !readsDefault;
        this.absent = isNull ? null : ofDefault(descriptor.getDefaultValue());
    }

    private Kind kind() {
        if (type == null) return Kind.UNMAPPED;
        if (descriptor.getJavaType() != FieldDescriptor.JavaType.MESSAGE) return Kind.SCALAR;
        if (descriptor.isMapField()) return Kind.MAP;
        if (type instanceof StructType) return Kind.ROW;
        String name = descriptor.getMessageType().getFullName();
        if (name.equals("google.protobuf.Timestamp")) return Kind.TIMESTAMP;
        return JSON_TYPES.contains(name) ? Kind.JSON : Kind.WRAPPER;
    }

    private ProtobufMessage createMessage(ProtobufMessage.Columns columns) {
        String parent = valuePath() + ".";
        return switch (kind) {
            case ROW -> new ProtobufMessage(descriptor.getMessageType(), (StructType) type, null, parent, columns);
            case MAP -> {
                MapType map = (MapType) type;
                StructType entry = new StructType().add("key", map.keyType()).add("value", map.valueType());
                yield createMessage(entry, columns, path, path + "[]");
            }
            case WRAPPER -> createMessage(new StructType().add("value", type), columns, parent + "value");
            case TIMESTAMP -> createMessage(SECONDS_AND_NANOS, columns, parent + "seconds", parent + "nanos");
            default -> null;
        };
    }

    private ProtobufMessage createMessage(StructType types, ProtobufMessage.Columns columns, String... paths) {
        return new ProtobufMessage(descriptor.getMessageType(), types, paths, "", columns);
    }

    /** Returns whether a string in a MAP must be UTF-8. Protobuf's library for Java always requires it. */
    private static boolean mustBeUtf8(FieldDescriptor descriptor) {
        FeatureSet features = descriptor.toProto().getOptions().getFeatures(); // getOptions() has none
        if (!features.hasUtf8Validation()) features = descriptor.getFile().toProto().getOptions().getFeatures();
        if (features.hasUtf8Validation()) return features.getUtf8Validation() == FeatureSet.Utf8Validation.VERIFY;
        return Set.of("proto3", "editions").contains(descriptor.getFile().toProto().getSyntax());
    }

    private static int wireType(FieldDescriptor descriptor) {
        return switch (descriptor.getType()) {
            case FIXED32, SFIXED32, FLOAT -> WireFormat.WIRETYPE_FIXED32;
            case FIXED64, SFIXED64, DOUBLE -> WireFormat.WIRETYPE_FIXED64;
            case STRING, BYTES, MESSAGE -> WireFormat.WIRETYPE_LENGTH_DELIMITED;
            case GROUP -> WireFormat.WIRETYPE_START_GROUP;
            default -> WireFormat.WIRETYPE_VARINT;
        };
    }

    /** Returns the path of the column, or of the elements of an ARRAY. */
    String valuePath() {
        return descriptor.isRepeated() && kind != Kind.MAP ? path + "[]" : path;
    }

    boolean isEnum() {
        return descriptor.getType() == FieldDescriptor.Type.ENUM;
    }

    boolean isClosedEnum() {
        return isEnum() && descriptor.getEnumType().isClosed();
    }

    /** Returns whether its enum has a number. */
    boolean isKnown(long number) {
        return symbols.containsKey((int) number);
    }

    /** Reads a scalar. Returns null for a number that its closed enum does not have. */
    Object read(ProtobufInput in) throws IOException {
        return switch (descriptor.getType()) {
            case STRING, BYTES -> readBytes(in);
            default -> ofNumber(readNumber(in.stream));
        };
    }

    private Object readBytes(ProtobufInput in) throws IOException {
        int size = in.readLength();
        int start = in.stream.getTotalBytesRead();
        byte[] bytes = in.stream.readRawBytes(size);
        if (type instanceof BinaryType) return bytes;
        UTF8String text = UTF8String.fromBytes(bytes);
        if (text.isValid()) return text;
        if (mustBeUtf8) throw in.failure("Protocol message had invalid UTF-8", path, start);
        return UTF8String.fromString(text.toString()); // has U+FFFD
    }

    /** Returns a number as the column has it, or its bits. */
    private long readNumber(CodedInputStream in) throws IOException {
        return switch (descriptor.getType()) {
            case SINT32, SINT64 -> type instanceof LongType ? in.readSInt64() : in.readSInt32();
            case FIXED32, SFIXED32, FLOAT -> widen(in.readFixed32());
            case FIXED64, SFIXED64, DOUBLE -> in.readFixed64();
            case UINT32, ENUM -> widen(in.readRawVarint32());
            default -> in.readRawVarint64();
        };
    }

    /** Returns a number, which is unsigned in a wider column. */
    private long widen(int number) {
        return type instanceof LongType && !isEnum() ? Integer.toUnsignedLong(number) : number;
    }

    private Object ofNumber(long number) {
        if (isEnum()) return ofEnum((int) number);
        if (type instanceof IntegerType) return (int) number;
        if (type instanceof LongType) return number;
        if (type instanceof BooleanType) return number != 0;
        if (type instanceof DoubleType) return Double.longBitsToDouble(number);
        if (type instanceof FloatType) return Float.intBitsToFloat((int) number);
        BigDecimal unsigned = new BigDecimal(new BigInteger(Long.toUnsignedString(number)));
        return Decimal.apply(unsigned, ((DecimalType) type).precision(), 0);
    }

    private Object ofEnum(int number) {
        Object known = symbols.get(number);
        if (known != null || descriptor.getEnumType().isClosed()) return known;
        return type instanceof StringType ? UNRECOGNIZED : integer(number);
    }

    private Object symbol(EnumValueDescriptor value) {
        if (type == null) return Boolean.TRUE;
        return type instanceof StringType ? UTF8String.fromString(value.getName()) : integer(value.getNumber());
    }

    private Object integer(int number) {
        if (type instanceof ByteType) return (byte) number;
        if (type instanceof ShortType) return (short) number;
        if (type instanceof LongType) return Long.valueOf(number);
        return number;
    }

    private Object ofDefault(Object value) {
        if (value instanceof String text) return UTF8String.fromString(text);
        if (value instanceof ByteString bytes) return bytes.toByteArray();
        if (value instanceof EnumValueDescriptor symbol) return ofNumber(symbol.getNumber());
        if (value instanceof Boolean flag) return flag;
        if (value instanceof Float || value instanceof Double) return value;
        return ofNumber(value instanceof Integer number ? widen(number) : (Long) value);
    }
}
