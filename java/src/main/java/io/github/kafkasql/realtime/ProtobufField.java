package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** A field of a message, and the column that it is converted to and from. */
final class ProtobufField implements Serializable {
    // opcodes of kafka_sql/formats/protobuf/opcodes.py
    static final int UNMAPPED = 0;
    private static final int ZIGZAG_32 = 2;
    private static final int ZIGZAG_64 = 4;
    private static final int BOOL = 5;
    private static final int UNSIGNED_32 = 6;
    private static final int CLOSED_ENUM = 8;
    private static final int FIXED_4 = 9;
    private static final int FIXED_4_UNSIGNED = 10;
    static final int BYTES = 13;
    private static final int STRING = 14;
    static final int MESSAGE = 15;
    // presence and types of kafka_sql/formats/protobuf/encode_kernels.py
    static final int IMPLICIT = 1;
    static final int ALWAYS = 2;
    static final int REQUIRED = 3;
    static final int UNSIGNED = 2;
    static final int ZIGZAG = 3;
    static final int ZIGZAG_LONG = 5;
    static final int FIXED32 = 7;
    static final int FIXED64 = 8;
    static final int LONG_AS_FIXED32 = 9;
    static final int DECIMAL_AS_FIXED64 = 11;
    static final int BYTES_VALUE = 12;
    private static final StructType SECONDS_AND_NANOS =
        new StructType().add("seconds", DataTypes.LongType).add("nanos", DataTypes.IntegerType);

    final int index; // in its message
    final int number;
    final String path;
    final int column; // -1 if it has none
    final int wireType; // of a value that is not packed
    final boolean isRequired;
    final int opcode;
    final boolean isRepeated;
    final boolean isMap;
    final boolean isJson; // a Struct, Value or ListValue
    final boolean isTimestamp;
    final boolean isWrapper;
    final String messageName; // of a JSON type
    final ProtobufMessage message; // of a ROW, of a Timestamp, of a wrapper or of the entries of a MAP
    final DataType type; // of the column; for an ARRAY of its elements
    final boolean readsDefault; // if it is absent
    final int presence;
    final int valueType;
    final int nullBits; // what null is written as in an ARRAY or MAP; for strings, 1 for the literal
    final boolean isPacked;
    final BigInteger unsignedLimit; // the field's largest number; null if every value of the column can be written
    final String fullName;
    final int oneof; // -1 if it is in none with several fields
    private final Object absent; // the value of an absent field that is not a message
    private final Map valuesByNumber; // of an enum: the columns' values; null for other types
    private final Map numbersByName;
    private final int firstNumber;
    int[] laterColumns = new int[0]; // of the fields of its oneof that replace it when they are written

    ProtobufField(Map plan, int index, DataType columnType) {
        this.index = index;
        this.number = PlanTables.number(plan, "number");
        this.path = (String) plan.get("path");
        this.column = PlanTables.number(plan, "column");
        this.wireType = PlanTables.number(plan, "wire_type");
        this.isRequired = plan.get("is_required").equals(Boolean.TRUE);
        this.opcode = PlanTables.number(plan, "opcode");
        this.isMap = plan.get("form").equals("map");
        this.isRepeated = isMap || plan.get("form").equals("array");
        String kind = (String) plan.get("kind");
        this.isJson = kind.equals("json");
        this.isTimestamp = kind.equals("timestamp");
        this.isWrapper = kind.equals("wrapper");
        this.messageName = (String) plan.get("name");
        this.type = columnType instanceof ArrayType ? ((ArrayType) columnType).elementType() : columnType;
        this.message = plan.get("message") == null ? null : new ProtobufMessage((Map) plan.get("message"), structType());
        this.readsDefault = Boolean.TRUE.equals(plan.get("reads_default"));
        this.presence = PlanTables.number(plan, "presence");
        this.valueType = isJson ? BYTES_VALUE : PlanTables.number(plan, "value_type");
        this.nullBits = PlanTables.number(plan, "null_bits");
        this.isPacked = Boolean.TRUE.equals(plan.get("is_packed"));
        String limit = (String) plan.get("unsigned_limit");
        this.unsignedLimit = limit == null ? null : new BigInteger(limit);
        this.fullName = (String) plan.get("full_name");
        this.oneof = PlanTables.number(plan, "oneof");
        List symbols = (List) plan.get("symbols");
        this.valuesByNumber = symbols == null ? null : new HashMap();
        this.numbersByName = symbols == null ? null : new HashMap();
        this.firstNumber = symbols == null ? 0 : number((List) symbols.get(0));
        for (int i = 0; symbols != null && i < symbols.size(); i++) addSymbol((List) symbols.get(i));
        this.absent = absentValue(plan.get("default"));
    }

    private StructType structType() {
        if (isTimestamp) return SECONDS_AND_NANOS;
        if (isWrapper) return new StructType().add("value", type);
        if (!isMap) return (StructType) type;
        MapType map = (MapType) type;
        return new StructType().add("key", map.keyType()).add("value", map.valueType());
    }

    private static int number(List symbol) {
        return Integer.parseInt(((JsonDocument.Number) symbol.get(0)).text);
    }

    private void addSymbol(List symbol) {
        Integer number = Integer.valueOf(number(symbol));
        UTF8String name = UTF8String.fromString((String) symbol.get(1));
        Object value = type instanceof StringType ? name : type == null ? Boolean.TRUE : integer(number.intValue());
        if (!valuesByNumber.containsKey(number)) valuesByNumber.put(number, value); // the first of several names
        numbersByName.put(name, number);
    }

    private Object absentValue(Object plan) {
        if (plan == null) return null;
        if (plan instanceof String) return ofBytes(PlanTables.bytes((String) plan));
        return box(Long.parseLong(((JsonDocument.Number) plan).text));
    }

    void findLaterColumns(ProtobufField[] fields) {
        int[] columns = new int[fields.length];
        int count = 0;
        for (int i = 0; i < fields.length; i++) {
            if (fields[i].oneof == oneof && fields[i].column > column) columns[count++] = fields[i].column;
        }
        this.laterColumns = Arrays.copyOf(columns, count);
    }

    /** Returns the value of an absent field that is not a message. */
    Object absent() {
        return absent;
    }

    /** Returns the path of the column, or of the elements of an ARRAY. */
    String valuePath() {
        return isRepeated ? path + "[]" : path;
    }

    boolean isMessage() {
        return opcode == MESSAGE;
    }

    boolean isClosedEnum() {
        return opcode == CLOSED_ENUM;
    }

    /** Returns whether its enum has a number. */
    boolean isKnown(long number) {
        return valuesByNumber.containsKey(Integer.valueOf((int) number));
    }

    /** Returns the column's value of a field that is not a message; null for an unknown number of a closed enum. */
    Object read(ProtobufInput in, int end) {
        if (opcode >= BYTES) return readBytes(in, in.readEnd(end));
        long number = readNumber(in, end);
        return opcode == CLOSED_ENUM && !isKnown(number) ? null : box(number);
    }

    private Object readBytes(ProtobufInput in, int end) {
        int start = in.position;
        if (opcode == STRING) {
            UTF8String text = UTF8String.fromBytes(in.payload, start, end - start);
            if (!text.isValid()) throw in.failure("Protocol message had invalid UTF-8", path, start);
            in.position = end;
            return text;
        }
        byte[] bytes = in.readBytes(end);
        return isJson ? bytes : ofBytes(bytes);
    }

    private Object ofBytes(byte[] bytes) {
        if (type instanceof BinaryType) return bytes;
        UTF8String text = UTF8String.fromBytes(bytes);
        return text.isValid() ? text : UTF8String.fromString(new String(bytes, StandardCharsets.UTF_8)); // has U+FFFD
    }

    private long readNumber(ProtobufInput in, int end) {
        if (opcode > FIXED_4_UNSIGNED) return in.readFixed64(end);
        if (opcode == FIXED_4) return in.readFixed32(end);
        if (opcode == FIXED_4_UNSIGNED) return in.readFixed32(end) & 0xFFFFFFFFL;
        long bits = in.readVarint(end);
        if (opcode == ZIGZAG_64) return (bits >>> 1) ^ -(bits & 1);
        if (opcode == ZIGZAG_32) return ((int) bits >>> 1) ^ -((int) bits & 1);
        if (opcode == UNSIGNED_32) return bits & 0xFFFFFFFFL;
        return bits;
    }

    private Object box(long number) {
        if (valuesByNumber != null) return enumValue((int) number);
        if (type instanceof IntegerType) return Integer.valueOf((int) number);
        if (type instanceof LongType) return Long.valueOf(number);
        if (type instanceof BooleanType) return Boolean.valueOf(number != 0);
        if (type instanceof DoubleType) return Double.valueOf(Double.longBitsToDouble(number));
        if (type instanceof FloatType) return Float.valueOf(Float.intBitsToFloat((int) number));
        BigDecimal unsigned = new BigDecimal(new BigInteger(Long.toUnsignedString(number)));
        return Decimal.apply(unsigned, ((DecimalType) type).precision(), 0);
    }

    private Object enumValue(int number) {
        Object value = valuesByNumber.get(Integer.valueOf(number));
        if (value != null) return value;
        return type instanceof StringType ? UTF8String.fromString("UNRECOGNIZED") : integer(number);
    }

    private Object integer(int number) {
        if (type instanceof ByteType) return Byte.valueOf((byte) number);
        if (type instanceof ShortType) return Short.valueOf((short) number);
        return type instanceof LongType ? (Object) Long.valueOf(number) : Integer.valueOf(number);
    }

    boolean isEnum() {
        return valuesByNumber != null;
    }

    /** Returns the number of an enum's name, or of its first one if it has no such name, as in Flink. */
    int enumNumber(UTF8String name) {
        Integer number = (Integer) numbersByName.get(name);
        return number == null ? firstNumber : number.intValue();
    }

    /** Returns the number, or the first one if the enum does not have it. */
    int enumNumber(long number) {
        return number == (int) number && isKnown(number) ? (int) number : firstNumber;
    }
}
