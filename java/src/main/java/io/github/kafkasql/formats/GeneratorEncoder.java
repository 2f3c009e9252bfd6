package io.github.kafkasql.formats;

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalTime;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.*;

/** Encodes rows with Jackson's generator of a format. */
public abstract class GeneratorEncoder extends PayloadEncoder {
    /** Writes a value. */
    @FunctionalInterface
    protected interface ValueWriter extends Serializable {
        public void write(SpecializedGetters values, int index, JsonGenerator out) throws IOException;
    }

    private static final int ALL_DIGITS = 9; // of fractional seconds

    private final TimestampStandard standard;
    private final boolean plainDecimals;
    private final boolean skipsNulls;
    private final Fields columns;

    /** precisions: digits of the fractional seconds of each column. */
    protected GeneratorEncoder(
        StructType type, int[] precisions, TimestampStandard standard, boolean plainDecimals, boolean skipsNulls) {
        super(type);
        this.standard = standard;
        this.plainDecimals = plainDecimals;
        this.skipsNulls = skipsNulls;
        this.columns = new Fields(type, precisions);
    }

    protected abstract JsonGenerator createGenerator(ByteArrayOutputStream out) throws IOException;

    /** Returns the writer of a ROW in a column. The constructor calls it. */
    protected abstract ValueWriter structWriter(StructType type);

    @Override
    public final byte[] encodeRow(InternalRow row) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
        try (JsonGenerator out = createGenerator(bytes)) {
            columns.writeObject(row, out);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    /** The fields of a row. */
    protected final class Fields implements Serializable {
        private final SerializedString[] names;
        private final ValueWriter[] writers;

        /** precisions: digits of the fractional seconds of each field; null for all digits. */
        public Fields(StructType type, int[] precisions) {
            StructField[] fields = type.fields();
            names = new SerializedString[fields.length];
            writers = new ValueWriter[fields.length];
            for (int i = 0; i < fields.length; i++) {
                names[i] = new SerializedString(fields[i].name());
                writers[i] = nullableWriter(fields[i].dataType(), precisions == null ? ALL_DIGITS : precisions[i]);
            }
        }

        public void writeObject(InternalRow row, JsonGenerator out) throws IOException {
            out.writeStartObject();
            for (int i = 0; i < writers.length; i++) {
                if (skipsNulls && row.isNullAt(i)) continue;
                out.writeFieldName(names[i]);
                writers[i].write(row, i, out);
            }
            out.writeEndObject();
        }

        public void writeArray(InternalRow row, JsonGenerator out) throws IOException {
            out.writeStartArray();
            for (int i = 0; i < writers.length; i++) writers[i].write(row, i, out);
            out.writeEndArray();
        }
    }

    private ValueWriter nullableWriter(DataType type, int precision) {
        ValueWriter writer = writer(type, precision);
        return (values, i, out) -> {
            if (values.isNullAt(i)) out.writeNull();
            else writer.write(values, i, out);
        };
    }

    private ValueWriter writer(DataType type, int precision) {
        if (type instanceof StructType struct) return structWriter(struct);
        if (type instanceof ArrayType array) return arrayWriter(nullableWriter(array.elementType(), ALL_DIGITS));
        if (type instanceof MapType map) return mapWriter(nullableWriter(map.valueType(), ALL_DIGITS));
        if (type instanceof StringType) return (row, i, out) -> out.writeString(row.getUTF8String(i).toString());
        if (type instanceof BooleanType) return (row, i, out) -> out.writeBoolean(row.getBoolean(i));
        if (type instanceof ByteType) return (row, i, out) -> out.writeNumber(row.getByte(i));
        if (type instanceof ShortType) return (row, i, out) -> out.writeNumber(row.getShort(i));
        if (type instanceof IntegerType) return (row, i, out) -> out.writeNumber(row.getInt(i));
        if (type instanceof LongType) return (row, i, out) -> out.writeNumber(row.getLong(i));
        if (type instanceof DoubleType) return (row, i, out) -> out.writeNumber(row.getDouble(i));
        if (type instanceof FloatType) return (row, i, out) -> out.writeNumber(row.getFloat(i));
        if (type instanceof DecimalType decimal) {
            return (row, i, out) -> writeDecimal(row.getDecimal(i, decimal.precision(), decimal.scale()), out);
        }
        if (type instanceof DateType) return (row, i, out) -> out.writeString(Times.formatDate(LocalDate.ofEpochDay(row.getInt(i))));
        if (type instanceof TimeType) {
            int digits = Math.min(precision, 3);
            return (row, i, out) ->
                out.writeString(Times.formatTime(LocalTime.ofNanoOfDay(Times.truncateTime(row.getLong(i), digits))));
        }
        if (type instanceof TimestampType || type instanceof TimestampNTZType) {
            boolean isUtc = type instanceof TimestampType;
            return (row, i, out) -> out.writeString(standard.format(Times.truncate(row.getLong(i), precision), isUtc));
        }
        if (type instanceof BinaryType) return (row, i, out) -> out.writeBinary(row.getBinary(i));
        throw new IllegalStateException("unsupported type " + type);
    }

    private void writeDecimal(Decimal value, JsonGenerator out) throws IOException {
        BigDecimal number = value.toJavaBigDecimal();
        out.writeNumber(plainDecimals ? number : number.signum() == 0 ? BigDecimal.ZERO : number.stripTrailingZeros());
    }

    private static ValueWriter arrayWriter(ValueWriter writer) {
        return (row, i, out) -> {
            ArrayData array = row.getArray(i);
            out.writeStartArray();
            for (int k = 0; k < array.numElements(); k++) writer.write(array, k, out);
            out.writeEndArray();
        };
    }

    private static ValueWriter mapWriter(ValueWriter writer) {
        return (row, i, out) -> {
            MapData map = row.getMap(i);
            out.writeStartObject();
            for (int k = 0; k < map.numElements(); k++) {
                out.writeFieldName(map.keyArray().getUTF8String(k).toString());
                writer.write(map.valueArray(), k, out);
            }
            out.writeEndObject();
        };
    }
}
