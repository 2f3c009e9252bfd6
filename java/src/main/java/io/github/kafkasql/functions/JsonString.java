package io.github.kafkasql.functions;

import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/** {@code json_string(struct(value))}: a value as JSON; null for null. It is an object because it needs the type. */
public final class JsonString extends FlinkFunction {
    private final StructType type;

    JsonString() {
        this(new StructType());
    }

    private JsonString(StructType type) {
        super("json_string", STRING, type);
        this.type = type;
    }

    @Override
    public BoundFunction bind(StructType arguments) {
        return new JsonString((StructType) arguments.fields()[0].dataType());
    }

    public UTF8String invoke(InternalRow row) {
        Object value = convert(row, 0, type.fields()[0].dataType());
        return value == null ? null : UTF8String.fromString(Json.write(value));
    }

    /** Return a value as an object that Jackson writes as Flink does. */
    private static Object convert(SpecializedGetters values, int index, DataType type) {
        if (values.isNullAt(index)) return null;
        Object value = values.get(index, type);
        if (type instanceof TimestampType) return dateTime((Long) value) + "Z";
        if (type instanceof TimestampNTZType) return dateTime((Long) value);
        if (type instanceof ArrayType array) return list((ArrayData) value, array.elementType());
        if (type instanceof MapType map) return map((MapData) value, map);
        if (type instanceof StructType struct) return object((InternalRow) value, struct);
        if (value instanceof Decimal decimal) return decimal.toJavaBigDecimal();
        if (value instanceof Float || value instanceof Double) return number(((Number) value).doubleValue());
        if (value instanceof byte[] bytes) return Base64.getEncoder().encodeToString(bytes);
        return value instanceof UTF8String ? value.toString() : value;
    }

    private static Object number(double value) {
        return Double.isFinite(value) ? new BigDecimal(Double.toString(value)) : Double.toString(value);
    }

    private static String dateTime(long micros) {
        Instant instant = Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
        return DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(LocalDateTime.ofInstant(instant, ZoneOffset.UTC));
    }

    private static List<Object> list(ArrayData values, DataType type) {
        List<Object> result = new ArrayList<>();
        for (int i = 0; i < values.numElements(); i++) result.add(convert(values, i, type));
        return result;
    }

    private static Map<Object, Object> map(MapData values, MapType type) {
        List<Object> keys = list(values.keyArray(), type.keyType());
        List<Object> items = list(values.valueArray(), type.valueType());
        Map<Object, Object> result = new HashMap<>();
        for (int i = 0; i < keys.size(); i++) result.put(keys.get(i), items.get(i));
        return result;
    }

    private static Map<Object, Object> object(InternalRow row, StructType type) {
        Map<Object, Object> result = new HashMap<>();
        StructField[] fields = type.fields();
        for (int i = 0; i < fields.length; i++) result.put(fields[i].name(), convert(row, i, fields[i].dataType()));
        return result;
    }
}
