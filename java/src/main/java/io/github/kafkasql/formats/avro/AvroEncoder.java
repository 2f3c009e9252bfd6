package io.github.kafkasql.formats.avro;

import io.github.kafkasql.formats.Failures;
import io.github.kafkasql.formats.PayloadEncoder;
import io.github.kafkasql.formats.Times;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.Encoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Encodes rows in Avro's binary encoding. */
public final class AvroEncoder extends PayloadEncoder {
    private final int[] precisions;
    private final String schema;
    private transient ValueWriter[] columns;
    private transient int branch; // of the record in a union; -1 if it is none
    private transient ByteArrayOutputStream payload;
    private transient BinaryEncoder encoder;

    /** Writes a value of a row or array. */
    @FunctionalInterface
    private interface ValueWriter {
        void write(SpecializedGetters row, int i, Encoder out) throws IOException;
    }

    /**
     * precisions: digits of the fractional seconds of each column. schema: a record whose fields are the columns, in
     * their order, or a union with such a record. Python has checked that it fits.
     */
    public AvroEncoder(StructType type, int[] precisions, String schema) {
        super(type);
        this.precisions = precisions;
        this.schema = schema;
    }

    private void open() {
        Schema root = AvroReader.parse(List.of(schema));
        branch = -1;
        if (root.getType() == Schema.Type.UNION) {
            List<Schema> branches = root.getTypes();
            do branch++; while (branches.get(branch).getType() != Schema.Type.RECORD);
            root = branches.get(branch);
        }
        columns = fields(type, root, precisions, "");
        payload = new ByteArrayOutputStream();
    }

    @Override
    public byte[] encodeRow(InternalRow row) {
        if (columns == null) open();
        encoder = EncoderFactory.get().binaryEncoder(payload, encoder);
        payload.reset(); // what a row that failed has left
        try {
            if (branch >= 0) encoder.writeIndex(branch);
            for (int i = 0; i < columns.length; i++) columns[i].write(row, i, encoder);
            encoder.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return payload.toByteArray();
    }

    private static ValueWriter[] fields(StructType type, Schema record, int[] precisions, String prefix) {
        StructField[] columns = type.fields();
        ValueWriter[] writers = new ValueWriter[columns.length];
        for (int i = 0; i < writers.length; i++) {
            Schema schema = record.getFields().get(i).schema();
            int precision = precisions == null ? 9 : precisions[i];
            writers[i] = nullable(columns[i].dataType(), schema, precision, prefix + columns[i].name());
        }
        return writers;
    }

    private static ValueWriter nullable(DataType type, Schema schema, int precision, String path) {
        if (schema.getType() != Schema.Type.UNION) {
            ValueWriter writer = value(type, schema, precision, path);
            return (row, i, out) -> {
                if (row.isNullAt(i)) throw failure(path, "the value is NULL, but the Avro schema does not allow null.");
                writer.write(row, i, out);
            };
        }
        int nullBranch = schema.getTypes().get(0).getType() == Schema.Type.NULL ? 0 : 1;
        ValueWriter writer = value(type, schema.getTypes().get(1 - nullBranch), precision, path);
        return (row, i, out) -> {
            boolean isNull = row.isNullAt(i);
            out.writeIndex(isNull ? nullBranch : 1 - nullBranch);
            if (!isNull) writer.write(row, i, out);
        };
    }

    private static ValueWriter value(DataType type, Schema schema, int precision, String path) {
        String unit = schema.getLogicalType() == null ? "" : schema.getLogicalType().getName();
        if (type instanceof StructType struct) return record(fields(struct, schema, null, path + "."));
        if (type instanceof ArrayType array) {
            return elements(nullable(array.elementType(), schema.getElementType(), 9, path + "[]"));
        }
        if (type instanceof MapType map) {
            return entries(nullable(map.valueType(), schema.getValueType(), 9, path + "[]"));
        }
        if (schema.getType() == Schema.Type.ENUM) return symbol(schema.getEnumSymbols(), path);
        if (type instanceof StringType) return (row, i, out) -> out.writeBytes(row.getUTF8String(i).getBytes());
        if (type instanceof BinaryType) return bytes(schema, path);
        if (type instanceof DecimalType decimal) return decimal(decimal, schema, path);
        if (type instanceof BooleanType) return (row, i, out) -> out.writeBoolean(row.getBoolean(i));
        if (type instanceof ByteType) return (row, i, out) -> out.writeInt(row.getByte(i));
        if (type instanceof ShortType) return (row, i, out) -> out.writeInt(row.getShort(i));
        if (type instanceof TimeType) return time(unit, precision);
        if (schema.getType() == Schema.Type.INT) return (row, i, out) -> out.writeInt(row.getInt(i));
        if (type instanceof LongType) return (row, i, out) -> out.writeLong(row.getLong(i));
        if (type instanceof FloatType) return (row, i, out) -> out.writeFloat(row.getFloat(i));
        if (type instanceof DoubleType) return (row, i, out) -> out.writeDouble(row.getDouble(i));
        return timestamp(unit, precision);
    }

    private static ValueWriter time(String unit, int precision) {
        long nanos = unit.endsWith("-micros") ? 1000 : 1_000_000;
        return (row, i, out) -> out.writeLong(Times.truncateTime(row.getLong(i), precision) / nanos);
    }

    private static ValueWriter timestamp(String unit, int precision) {
        long factor = unit.endsWith("-nanos") ? 1000 : 1;
        long divisor = factor == 1 && !unit.endsWith("-micros") ? 1000 : 1;
        return (row, i, out) ->
            out.writeLong(Math.floorDiv(Times.truncate(row.getLong(i), precision) * factor, divisor));
    }

    private static ValueWriter record(ValueWriter[] fields) {
        return (row, i, out) -> {
            InternalRow struct = row.getStruct(i, fields.length);
            for (int k = 0; k < fields.length; k++) fields[k].write(struct, k, out);
        };
    }

    private static ValueWriter elements(ValueWriter element) {
        return (row, i, out) -> {
            ArrayData array = row.getArray(i);
            out.writeArrayStart();
            out.setItemCount(array.numElements());
            for (int k = 0; k < array.numElements(); k++) element.write(array, k, out);
            out.writeArrayEnd();
        };
    }

    private static ValueWriter entries(ValueWriter value) {
        return (row, i, out) -> {
            MapData map = row.getMap(i);
            out.writeMapStart();
            out.setItemCount(map.numElements());
            for (int k = 0; k < map.numElements(); k++) {
                out.writeBytes(map.keyArray().getUTF8String(k).getBytes());
                value.write(map.valueArray(), k, out);
            }
            out.writeMapEnd();
        };
    }

    private static ValueWriter symbol(List<String> symbols, String path) {
        Map<UTF8String, Integer> numbers = new HashMap<>();
        for (String symbol : symbols) numbers.put(UTF8String.fromString(symbol), numbers.size());
        return (row, i, out) -> {
            Integer number = numbers.get(row.getUTF8String(i));
            if (number == null) {
                throw failure(path, "'" + row.getUTF8String(i) + "' is not a symbol of the Avro enum. The symbols are: "
                    + String.join(", ", symbols) + ".");
            }
            out.writeEnum(number);
        };
    }

    private static ValueWriter bytes(Schema schema, String path) {
        if (schema.getType() != Schema.Type.FIXED) return (row, i, out) -> out.writeBytes(row.getBinary(i));
        return (row, i, out) -> writeFixed(row.getBinary(i), schema, path, out);
    }

    private static void writeFixed(byte[] bytes, Schema schema, String path, Encoder out) throws IOException {
        int size = schema.getFixedSize();
        if (bytes.length != size) throw failure(path, "the Avro schema expects a fixed of " + size + " bytes.");
        out.writeFixed(bytes);
    }

    private static ValueWriter decimal(DecimalType type, Schema schema, String path) {
        boolean isFixed = schema.getType() == Schema.Type.FIXED;
        return (row, i, out) -> {
            Decimal value = row.getDecimal(i, type.precision(), type.scale());
            byte[] number = value.toJavaBigDecimal().setScale(type.scale()).unscaledValue().toByteArray();
            if (isFixed) writeFixed(extendSign(number, schema.getFixedSize()), schema, path, out);
            else out.writeBytes(number);
        };
    }

    private static byte[] extendSign(byte[] number, int size) {
        if (number.length >= size) return number;
        byte[] extended = new byte[size];
        if (number[0] < 0) Arrays.fill(extended, (byte) -1);
        System.arraycopy(number, 0, extended, size - number.length, number.length);
        return extended;
    }

    private static RuntimeException failure(String path, String reason) {
        return Failures.encode(path, "Field '" + path + "': " + reason);
    }
}
