package io.github.kafkasql.realtime;

import io.github.kafkasql.formats.PayloadEncoder;
import io.github.kafkasql.formats.Failures;
import io.github.kafkasql.formats.Times;
import java.io.ByteArrayOutputStream;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;

/** Encodes rows in Avro's binary encoding. */
public final class AvroEncoder extends PayloadEncoder {
    private final int branch; // of the record in a union; -1 if it is none
    private final AvroNode[] fields;
    private final int[] precisions;

    /**
     * precisions: digits of the fractional seconds of each column. schema: a record whose fields are the columns, in
     * their order, or a union with such a record.
     */
    public AvroEncoder(StructType type, int[] precisions, String schema) {
        super(type);
        Schema root = AvroNode.parse(schema);
        int branch = -1;
        if (root.getType() == Schema.Type.UNION) {
            List branches = root.getTypes();
            for (branch = 0; ((Schema) branches.get(branch)).getType() != Schema.Type.RECORD; branch++);
            root = (Schema) branches.get(branch);
        }
        this.branch = branch;
        this.fields = AvroNode.fields(type, root, "");
        this.precisions = precisions;
    }

    public byte[] encodeRow(InternalRow row) {
        ByteArrayOutputStream out = new ByteArrayOutputStream(128);
        if (branch >= 0) writeNumber(branch, out);
        for (int i = 0; i < fields.length; i++) write(row, i, fields[i], precisions[i], out);
        return out.toByteArray();
    }

    private static void write(SpecializedGetters row, int i, AvroNode node, int precision, ByteArrayOutputStream out) {
        boolean isNull = row.isNullAt(i);
        if (isNull && node.nullBranch < 0) {
            throw Failures.encode(
                "Field '" + node.path + "': the value is NULL, but the Avro schema does not allow null.");
        }
        if (node.nullBranch >= 0) writeNumber(isNull ? node.nullBranch : node.branch, out);
        if (!isNull) writeValue(row, i, node, precision, out);
    }

    private static void writeValue(
        SpecializedGetters row, int i, AvroNode node, int precision, ByteArrayOutputStream out) {
        DataType type = node.type;
        if (type instanceof StructType) {
            InternalRow struct = row.getStruct(i, node.children.length);
            for (int k = 0; k < node.children.length; k++) write(struct, k, node.children[k], 9, out);
        } else if (type instanceof ArrayType) {
            writeElements(null, row.getArray(i), node, out);
        } else if (type instanceof MapType) {
            MapData map = row.getMap(i);
            writeElements(map.keyArray(), map.valueArray(), node, out);
        } else if (type instanceof StringType) {
            if (node.symbols == null) writeBytes(row.getUTF8String(i).getBytes(), out);
            else writeNumber(symbol(row.getUTF8String(i).toString(), node), out);
        } else if (type instanceof BinaryType) {
            byte[] bytes = row.getBinary(i);
            if (node.size < 0) writeBytes(bytes, out);
            else if (bytes.length == node.size) out.write(bytes, 0, bytes.length);
            else throw wrongSize(node);
        } else if (type instanceof BooleanType) {
            out.write(row.getBoolean(i) ? 1 : 0);
        } else if (type instanceof ByteType) {
            writeNumber(row.getByte(i), out);
        } else if (type instanceof ShortType) {
            writeNumber(row.getShort(i), out);
        } else if (type instanceof IntegerType || type instanceof DateType) {
            writeNumber(row.getInt(i), out);
        } else if (type instanceof LongType) {
            writeNumber(row.getLong(i), out);
        } else if (type instanceof FloatType) {
            writeFixed(Float.floatToRawIntBits(row.getFloat(i)), 4, out);
        } else if (type instanceof DoubleType) {
            writeFixed(Double.doubleToRawLongBits(row.getDouble(i)), 8, out);
        } else if (type instanceof DecimalType) {
            DecimalType decimal = (DecimalType) type;
            Decimal value = row.getDecimal(i, decimal.precision(), decimal.scale());
            writeDecimal(value.toJavaBigDecimal().setScale(decimal.scale()).unscaledValue().toByteArray(), node, out);
        } else if (type instanceof TimeType) {
            writeNumber(Times.truncateTime(row.getLong(i), precision) / node.nanosPerUnit, out);
        } else {
            long micros = Times.truncate(row.getLong(i), precision);
            long factor = node.unitsPerMicro;
            writeNumber(factor > 0 ? micros * factor : Math.floorDiv(micros, -factor), out);
        }
    }

    private static int symbol(String text, AvroNode node) {
        Integer number = (Integer) node.symbols.get(text);
        if (number != null) return number.intValue();
        throw Failures.encode(
            "Field '" + node.path + "': '" + text + "' is not a symbol of the Avro enum. The symbols "
                + "are: " + String.join(", ", (Iterable) node.symbols.keySet()) + ".");
    }

    private static RuntimeException wrongSize(AvroNode node) {
        return Failures.encode(
            "Field '" + node.path + "': the Avro schema expects a fixed of " + node.size + " bytes.");
    }

    private static void writeDecimal(byte[] number, AvroNode node, ByteArrayOutputStream out) {
        if (node.size < 0) {
            writeBytes(number, out);
            return;
        }
        if (number.length > node.size) throw wrongSize(node);
        for (int i = number.length; i < node.size; i++) out.write(number[0] < 0 ? 255 : 0);
        out.write(number, 0, number.length);
    }

    private static void writeElements(ArrayData keys, ArrayData values, AvroNode node, ByteArrayOutputStream out) {
        int count = values.numElements();
        if (count > 0) writeNumber(count, out);
        for (int i = 0; i < count; i++) {
            if (keys != null) writeBytes(keys.getUTF8String(i).getBytes(), out);
            write(values, i, node.children[0], 9, out);
        }
        writeNumber(0, out);
    }

    private static void writeBytes(byte[] bytes, ByteArrayOutputStream out) {
        writeNumber(bytes.length, out);
        out.write(bytes, 0, bytes.length);
    }

    private static void writeFixed(long bits, int size, ByteArrayOutputStream out) {
        for (int i = 0; i < size; i++) out.write((int) (bits >>> (8 * i)));
    }

    private static void writeNumber(long value, ByteArrayOutputStream out) {
        long bits = (value << 1) ^ (value >> 63);
        while ((bits & ~0x7FL) != 0) {
            out.write((int) (bits & 0x7F | 0x80));
            bits >>>= 7;
        }
        out.write((int) bits);
    }
}
