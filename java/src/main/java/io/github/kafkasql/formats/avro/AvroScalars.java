package io.github.kafkasql.formats.avro;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads values that contain no others, by the rules of kafka_sql/formats/avro/resolution.py. */
final class AvroScalars {
    private static final long NANOS_PER_DAY = 86_400_000_000_000L;

    @FunctionalInterface
    private interface NumberReader {
        long read(AvroInput in) throws IOException;
    }

    /** Returns the logical type; empty if there is none that Avro knows. */
    static String logicalType(Schema schema) {
        return schema.getLogicalType() == null ? "" : schema.getLogicalType().getName();
    }

    /** Returns whether a type's values mean what the column's type means, apart from whether they can be converted. */
    private static boolean represents(Schema writer, DataType type) {
        String logicalType = logicalType(writer);
        if (logicalType.isEmpty()) return true;
        if (type instanceof DateType) return logicalType.equals("date");
        if (type instanceof TimeType) return logicalType.startsWith("time-");
        if (isTimestamp(type)) return logicalType.contains("timestamp-");
        if (type instanceof DecimalType) return logicalType.equals("decimal");
        return !(type instanceof StringType) || logicalType.equals("uuid") && writer.getType() == Schema.Type.STRING;
    }

    private static boolean isTimestamp(DataType type) {
        return type instanceof TimestampType || type instanceof TimestampNTZType;
    }

    /** Returns what reads a value; null if the type cannot be read as the column. */
    static AvroValueReader read(Schema writer, AvroTarget to) {
        DataType type = to.type();
        if (!represents(writer, type)) return null;
        int size = writer.getType() == Schema.Type.FIXED ? writer.getFixedSize() : 0;
        return switch (writer.getType()) {
            case BOOLEAN -> type instanceof BooleanType ? AvroInput::readBoolean : null;
            case INT -> type instanceof IntegerType || type instanceof DateType ? AvroInput::readInt
                : type instanceof ShortType ? in -> (short) in.readInt()
                : type instanceof ByteType ? in -> (byte) in.readInt()
                : number(AvroInput::readInt, writer, to);
            case LONG -> number(AvroInput::readLong, writer, to);
            case FLOAT -> type instanceof FloatType ? AvroInput::readFloat
                : type instanceof DoubleType ? in -> (double) in.readFloat() : null;
            case DOUBLE -> type instanceof DoubleType ? AvroInput::readDouble : null;
            case STRING, BYTES -> type instanceof StringType ? in -> text(in.readBytes())
                : type instanceof BinaryType ? AvroInput::readBytes
                : type instanceof DecimalType decimal && writer.getType() == Schema.Type.BYTES
                    ? in -> decimal(in.readBytes(), to.nullable(), decimal) : null;
            case FIXED -> type instanceof BinaryType ? in -> in.readFixed(size)
                : type instanceof DecimalType decimal
                    ? in -> decimal(in.readFixed(size), to.nullable(), decimal) : null;
            case ENUM -> type instanceof StringType ? symbol(symbols(writer, to.nonNullReader())) : null;
            default -> null;
        };
    }

    private static AvroValueReader number(NumberReader number, Schema writer, AvroTarget to) {
        DataType type = to.type();
        if (type instanceof LongType) return number::read;
        if (type instanceof FloatType) return in -> (float) number.read(in);
        if (type instanceof DoubleType) return in -> (double) number.read(in);
        boolean isTime = type instanceof TimeType;
        if (!isTime && !isTimestamp(type)) return null;
        String unit = logicalType(writer).isEmpty() ? logicalType(to.nonNullReader()) : logicalType(writer);
        long perMilli = isTime ? 1_000_000 : 1000;
        long factor = unit.endsWith("-micros") ? perMilli / 1000 : unit.endsWith("-nanos") ? 0 : perMilli;
        return in -> {
            long value = number.read(in);
            if (factor == 0) return Math.floorDiv(value, 1000L); // nanoseconds
            long scaled = value * factor;
            if (isTime && (scaled < 0 || scaled >= NANOS_PER_DAY)) throw new IOException("is not a time of day");
            if (scaled / factor != value) throw new IOException("is too large");
            return scaled;
        };
    }

    /** Returns text with U+FFFD for malformed bytes. */
    static UTF8String text(byte[] bytes) {
        UTF8String text = UTF8String.fromBytes(bytes);
        return text.isValid() ? text : UTF8String.fromString(text.toString());
    }

    private static Decimal decimal(byte[] bytes, boolean nullable, DecimalType type) throws IOException {
        if (bytes.length == 0) throw new IOException("a decimal has no bytes");
        BigInteger unscaled = new BigInteger(bytes);
        boolean fits = unscaled.bitLength() < 128; // do not count the digits of a long number
        BigDecimal value = new BigDecimal(unscaled, type.scale());
        if (fits && value.precision() <= type.precision()) return Decimal.apply(value, type.precision(), type.scale());
        if (nullable) return null;
        if (!fits) throw new IOException("is too large");
        throw new IOException("is a decimal beyond the column's precision, and null is not allowed");
    }

    /** Returns what the symbols of an enum are read as; null for one that the reader's enum lacks. */
    private static UTF8String[] symbols(Schema writer, Schema reader) {
        boolean isEnum = reader.getType() == Schema.Type.ENUM;
        return writer.getEnumSymbols().stream()
            .map(symbol -> !isEnum || reader.hasEnumSymbol(symbol) ? symbol : reader.getEnumDefault())
            .map(symbol -> symbol == null ? null : UTF8String.fromString(symbol))
            .toArray(UTF8String[]::new);
    }

    private static AvroValueReader symbol(UTF8String[] symbols) {
        return in -> {
            int number = in.readInt();
            if (number >= 0 && number < symbols.length && symbols[number] != null) return symbols[number];
            throw new IOException(
                "the enum has no such symbol, or the reader's schema has neither the symbol nor a default");
        };
    }

    private AvroScalars() {}
}
