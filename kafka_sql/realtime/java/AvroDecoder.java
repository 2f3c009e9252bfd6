package kafka_sql;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Decodes payloads in Avro's binary encoding that were written with the schema derived from the table. */
public final class AvroDecoder extends PayloadDecoder {
    private static final long NANOS_PER_DAY = 86400000000000L;
    private static final int EXCERPT_SIZE = 24; // bytes of a payload that errors show
    private static final int MAX_DECIMAL_SIZE = 16; // bytes

    private final AvroNode[] fields;

    public AvroDecoder(StructType type, String schema, ErrorHandling errors) {
        super(errors);
        this.fields = AvroNode.fields(type, schema);
    }

    void decodeRows(byte[] payload, List rows) {
        if (payload == null) return;
        try {
            rows.add(readRow(new AvroInput(payload), fields));
        } catch (Mismatch e) {
            throw new Mismatch(e.reason + "; the payload is: " + hexadecimal(payload), e.path, e.isMissing);
        }
    }

    private static String hexadecimal(byte[] payload) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < Math.min(payload.length, EXCERPT_SIZE); i++) {
            if (i > 0) text.append(' ');
            text.append(Character.forDigit(payload[i] >> 4 & 15, 16)).append(Character.forDigit(payload[i] & 15, 16));
        }
        return text + (payload.length > EXCERPT_SIZE ? " ..." : "");
    }

    private static GenericInternalRow readRow(AvroInput in, AvroNode[] nodes) {
        Object[] row = new Object[nodes.length];
        for (int i = 0; i < nodes.length; i++) row[i] = read(in, nodes[i]);
        return new GenericInternalRow(row);
    }

    private static Object read(AvroInput in, AvroNode node) {
        try {
            if (node.isUnion) {
                int branch = in.readInt();
                if (branch == 0) return null;
                if (branch != 1) throw in.malformed("the union has no such branch");
            }
            return readValue(in, node);
        } catch (NumberFormatException e) {
            throw new Mismatch(e.getMessage(), node.path, false);
        }
    }

    private static Object readValue(AvroInput in, AvroNode node) {
        DataType type = node.type;
        if (type instanceof StructType) return readRow(in, node.children);
        if (type instanceof ArrayType) return new GenericArrayData(readElements(in, node, null).toArray());
        if (type instanceof MapType) {
            List keys = new ArrayList();
            List values = readElements(in, node, keys);
            return new ArrayBasedMapData(new GenericArrayData(keys.toArray()), new GenericArrayData(values.toArray()));
        }
        if (type instanceof StringType) return readText(in);
        if (type instanceof BinaryType) return in.readBytes();
        if (type instanceof BooleanType) return Boolean.valueOf(in.readByte() == 1);
        if (type instanceof ByteType) return Byte.valueOf((byte) in.readInt());
        if (type instanceof ShortType) return Short.valueOf((short) in.readInt());
        if (type instanceof IntegerType || type instanceof DateType) return Integer.valueOf(in.readInt());
        if (type instanceof LongType) return Long.valueOf(in.readLong());
        if (type instanceof FloatType) return Float.valueOf(in.readFloat());
        if (type instanceof DoubleType) return Double.valueOf(in.readDouble());
        if (type instanceof DecimalType) return readDecimal(in, node, (DecimalType) type);
        if (type instanceof TimeType) {
            long nanos = in.readInt() * 1000000L;
            if (nanos < 0 || nanos >= NANOS_PER_DAY) throw in.malformed("is not a time of day");
            return Long.valueOf(nanos);
        }
        if (type instanceof TimestampType || type instanceof TimestampNTZType) {
            try {
                return Long.valueOf(Math.multiplyExact(in.readLong(), node.microsPerUnit));
            } catch (ArithmeticException e) {
                throw in.malformed("is too large");
            }
        }
        throw new IllegalStateException("unsupported type " + type);
    }

    /** Returns the elements of an array, or the values of a map, whose keys are added to a list. */
    private static List readElements(AvroInput in, AvroNode node, List keys) {
        List elements = new ArrayList();
        for (int count = in.readBlockSize(); count > 0; count = in.readBlockSize()) {
            for (int i = 0; i < count; i++) {
                if (keys != null) keys.add(readText(in));
                elements.add(read(in, node.children[0]));
            }
        }
        return elements;
    }

    private static UTF8String readText(AvroInput in) {
        return UTF8String.fromString(new String(in.readBytes(), StandardCharsets.UTF_8));
    }

    private static Decimal readDecimal(AvroInput in, AvroNode node, DecimalType type) {
        byte[] bytes = in.readBytes();
        if (bytes.length == 0) throw in.malformed("a decimal has no bytes");
        BigInteger unscaled = new BigInteger(bytes);
        boolean fits = unscaled.bitLength() < MAX_DECIMAL_SIZE * 8;
        BigDecimal value = new BigDecimal(unscaled, type.scale());
        if (fits && value.precision() <= type.precision()) return Decimal.apply(value, type.precision(), type.scale());
        if (node.allowsNull) return null;
        if (!fits) throw in.malformed("is too large");
        throw new NumberFormatException("is a decimal beyond the column's precision, and null is not allowed");
    }
}
