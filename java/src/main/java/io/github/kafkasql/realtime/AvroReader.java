package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.Mismatch;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes payloads of one writer's schema with the plan of kafka_sql/formats/avro/resolution.py. */
final class AvroReader implements Serializable {
    private static final int EXCERPT_SIZE = 24; // bytes of a payload that errors show
    private static final int MAX_DECIMAL_SIZE = 16; // bytes
    // cells and opcodes of kafka_sql/formats/avro/opcodes.py
    private static final int SLOT = 1;
    private static final int A = 2;
    private static final int B = 3;
    private static final int C = 4;
    private static final int INT = 1;
    private static final int BYTE = 2;
    private static final int SHORT = 3;
    private static final int LONG = 4;
    private static final int SCALED = 5;
    private static final int TIME = 6;
    private static final int LONG_TO_FLOAT = 7;
    private static final int LONG_TO_DOUBLE = 8;
    private static final int FLOAT = 9;
    private static final int FLOAT_TO_DOUBLE = 10;
    private static final int DOUBLE = 11;
    private static final int BOOLEAN = 12;
    private static final int BYTES = 13;
    private static final int FIXED = 14;
    private static final int ENUM = 15;
    private static final int DECIMAL = 16;
    private static final int DECIMAL_FIXED = 17;
    private static final int NULL = 18;
    private static final int NOT_NULL = 19;
    private static final int CONSTANT = 20;
    private static final int LITERAL = 21;
    private static final int UNION = 30;
    private static final int JUMP = 31;
    private static final int ARRAY = 32;
    private static final int NEXT = 33;
    private static final int END_LIST = 34;
    private static final int CALL = 35;
    private static final int RETURN = 36;
    private static final int SKIP_NUMBER = 40;
    private static final int SKIP_BYTES = 41;
    private static final int SKIP_FIXED = 42;
    private static final int SKIP_BLOCKS = 43;
    private static final int FAIL = 50;
    private static final int END = 51;

    private final RowLayout layout;
    private final long[][] operations;
    private final long[] jumps;
    private final byte[][] literals;
    private final UTF8String[] texts; // of literals
    private final String[] paths;
    private final long[] subroutineCells; // by operation, -1 outside of the subroutines that skip fields
    private final String[] reasons;
    private final int cellCount;

    AvroReader(StructType type, Map plan) {
        this.layout = new RowLayout(type);
        this.operations = PlanTables.rows(plan, "operations");
        this.jumps = PlanTables.numbers((java.util.List) plan.get("jumps"));
        this.literals = PlanTables.bytes(plan, "literals");
        this.texts = new UTF8String[literals.length];
        this.paths = PlanTables.texts(plan, "paths");
        this.subroutineCells = PlanTables.numbers((java.util.List) plan.get("subroutine_cells"));
        this.cellCount = PlanTables.number(plan, "cell_count");
        this.reasons = PlanTables.texts(plan, "reasons");
    }

    /** Decodes a payload after its header. Throws Mismatch if it is malformed. */
    GenericInternalRow read(byte[] payload, int headerSize) {
        RowBuilder out = new RowBuilder(layout);
        AvroInput in = new AvroInput(payload, headerSize);
        long[] cells = new long[cellCount]; // the elements in an array's block, the operation that called a subroutine
        int next = 0;
        while (true) {
            long[] operation = operations[next];
            int opcode = (int) operation[0];
            if (opcode == END) return out.build();
            if (opcode == FAIL) throw mismatch(reasons[(int) operation[A]], next, cells, payload);
            int start = in.position();
            try {
                next = step(operation, opcode, next, in, out, cells);
            } catch (NumberFormatException e) {
                String where = " (byte " + start + " of " + payload.length + ")";
                throw mismatch(e.getMessage() + where, next, cells, payload);
            }
        }
    }

    private Mismatch mismatch(String reason, int operation, long[] cells, byte[] payload) {
        while (subroutineCells[operation] >= 0) operation = (int) cells[(int) subroutineCells[operation]];
        return new Mismatch(reason + "; the payload is: " + hexadecimal(payload), paths[operation], false);
    }

    static String hexadecimal(byte[] payload) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(payload.length, EXCERPT_SIZE); i++) {
            if (i > 0) text.append(' ');
            text.append(Character.forDigit(payload[i] >> 4 & 15, 16)).append(Character.forDigit(payload[i] & 15, 16));
        }
        return text + (payload.length > EXCERPT_SIZE ? " ..." : "");
    }

    /** Carries out an operation and returns the next one. */
    private int step(long[] operation, int opcode, int index, AvroInput in, RowBuilder out, long[] cells) {
        if (opcode < UNION) {
            out.append((int) operation[SLOT], read(operation, opcode, in, out));
            return index + 1;
        }
        if (opcode == UNION) {
            int branch = in.readInt();
            if (branch < 0 || branch >= operation[A]) throw new NumberFormatException("the union has no such branch");
            return (int) jumps[(int) operation[B] + branch];
        }
        if (opcode == JUMP) return (int) operation[A];
        if (opcode == ARRAY) return nextElement(operation, index, 0, in, out, cells);
        if (opcode == NEXT) {
            int start = (int) operation[A] - 1;
            return nextElement(operations[start], start, cells[(int) operation[C]] - 1, in, out, cells);
        }
        if (opcode == CALL) {
            cells[(int) operation[C]] = index;
            return (int) operation[A];
        }
        if (opcode == RETURN) return (int) operations[(int) cells[(int) operation[C]]][B];
        if (opcode == END_LIST) out.appendList((int) operation[SLOT]);
        else if (opcode == SKIP_NUMBER) in.readLong();
        else if (opcode == SKIP_BYTES) in.skipBytes();
        else if (opcode == SKIP_FIXED) in.skip(operation[A]);
        else if (opcode == SKIP_BLOCKS) in.skipBlocks();
        else throw new IllegalStateException("unknown opcode " + opcode);
        return index + 1;
    }

    /** Starts the next element of an array or map, or ends it. array: the operation that starts it. */
    private int nextElement(long[] array, int index, long left, AvroInput in, RowBuilder out, long[] cells) {
        if (left == 0) left = in.readBlockSize();
        if (left == 0) {
            if (array[SLOT] >= 0) out.appendList((int) array[SLOT]);
            return (int) array[B];
        }
        in.checkRemaining(left); // each element takes at least a byte
        cells[(int) array[C]] = left;
        return index + 1;
    }

    /** Returns the value that an operation appends to its slot. */
    private Object read(long[] operation, int opcode, AvroInput in, RowBuilder out) {
        DataType type = layout.types[(int) operation[SLOT]];
        if (opcode == NULL) return null;
        if (opcode == NOT_NULL) return Boolean.TRUE;
        if (opcode == BYTES) return ofBytes(type, in.readBytes());
        if (opcode == INT) return Integer.valueOf(in.readInt());
        if (opcode == LONG) return Long.valueOf(number(in, operation[A]));
        if (opcode == DOUBLE) return Double.valueOf(in.readDouble());
        if (opcode == BOOLEAN) return Boolean.valueOf(in.readByte() == 1);
        if (opcode == SCALED || opcode == TIME) return scaled(operation, opcode, number(in, operation[B]));
        if (opcode == BYTE) return Byte.valueOf((byte) in.readInt());
        if (opcode == SHORT) return Short.valueOf((short) in.readInt());
        if (opcode == LONG_TO_FLOAT) return Float.valueOf((float) number(in, operation[A]));
        if (opcode == LONG_TO_DOUBLE) return Double.valueOf((double) number(in, operation[A]));
        if (opcode == FLOAT) return Float.valueOf(in.readFloat());
        if (opcode == FLOAT_TO_DOUBLE) return Double.valueOf((double) in.readFloat());
        if (opcode == FIXED) return ofBytes(type, in.readBytes(operation[A]));
        if (opcode == ENUM) return literal(type, symbol(operation, in.readInt()));
        if (opcode == DECIMAL) return decimal(in.readBytes(), operation[C] == 1, (DecimalType) type);
        if (opcode == DECIMAL_FIXED) return decimal(in.readBytes(operation[A]), operation[C] == 1, (DecimalType) type);
        if (opcode == CONSTANT) return constant(type, operation[A], operation[B]);
        if (opcode == LITERAL) return literal(type, (int) operation[A]);
        throw new IllegalStateException("unknown opcode " + opcode);
    }

    private static long number(AvroInput in, long isInt) {
        return isInt == 1 ? in.readInt() : in.readLong();
    }

    private static Object ofBytes(DataType type, byte[] bytes) {
        if (type instanceof BinaryType) return bytes;
        return UTF8String.fromString(new String(bytes, StandardCharsets.UTF_8)); // U+FFFD for malformed bytes
    }

    /** Returns a literal. Elements share it, because a byte of a payload can be a symbol of 255 bytes. */
    private Object literal(DataType type, int index) {
        if (type instanceof BinaryType) return literals[index];
        if (texts[index] == null) texts[index] = (UTF8String) ofBytes(type, literals[index]);
        return texts[index];
    }

    private int symbol(long[] operation, int symbol) {
        int index = symbol >= 0 && symbol < operation[A] ? (int) operation[B] + symbol : -1;
        if (index >= 0 && literals[index] != null) return index;
        throw new NumberFormatException(
            "the enum has no such symbol, or the reader's schema has neither the symbol nor a default");
    }

    private static Long scaled(long[] operation, int opcode, long value) {
        long factor = operation[A];
        long result = factor > 0 ? value * factor : Math.floorDiv(value, -factor);
        if (opcode == TIME && (result < 0 || result >= operation[C])) {
            throw new NumberFormatException("is not a time of day");
        }
        if (factor > 0 && Math.floorDiv(result, factor) != value) throw new NumberFormatException("is too large");
        return Long.valueOf(result);
    }

    private static Decimal decimal(byte[] bytes, boolean allowsNull, DecimalType type) {
        if (bytes.length == 0) throw new NumberFormatException("a decimal has no bytes");
        BigInteger unscaled = new BigInteger(bytes);
        boolean fits = unscaled.bitLength() < MAX_DECIMAL_SIZE * 8;
        BigDecimal value = new BigDecimal(unscaled, type.scale());
        if (fits && value.precision() <= type.precision()) return Decimal.apply(value, type.precision(), type.scale());
        if (allowsNull) return null;
        if (!fits) throw new NumberFormatException("is too large");
        throw new NumberFormatException("is a decimal beyond the column's precision, and null is not allowed");
    }

    /** high: of a decimal, the upper bits. */
    private static Object constant(DataType type, long bits, long high) {
        if (type instanceof DecimalType) {
            byte[] unscaled = java.nio.ByteBuffer.allocate(MAX_DECIMAL_SIZE).putLong(high).putLong(bits).array();
            return decimal(unscaled, false, (DecimalType) type);
        }
        if (type instanceof BooleanType) return Boolean.valueOf(bits != 0);
        if (type instanceof ByteType) return Byte.valueOf((byte) bits);
        if (type instanceof ShortType) return Short.valueOf((short) bits);
        if (type instanceof IntegerType || type instanceof DateType) return Integer.valueOf((int) bits);
        if (type instanceof FloatType) return Float.valueOf(Float.intBitsToFloat((int) bits));
        if (type instanceof DoubleType) return Double.valueOf(Double.longBitsToDouble(bits));
        return Long.valueOf(bits);
    }
}
