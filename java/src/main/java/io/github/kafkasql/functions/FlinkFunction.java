package io.github.kafkasql.functions;

import io.github.kafkasql.Seqs;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.QueryContext;
import org.apache.spark.SparkRuntimeException;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Tuple2;
import scala.collection.immutable.Map$;

/**
 * A function of computed columns that returns Flink's values.
 *
 * <p>Each subclass has a public static method {@code invoke} with Spark's internal types, such as UTF8String, which
 * Spark compiles into its generated code. It is called with nulls, except for parameters of primitive types. Spark
 * passes a literal again for each row, so what is derived from it, such as a parsed path, is kept in a {@link Memo}.
 */
abstract class FlinkFunction implements UnboundFunction, ScalarFunction<Object> {
    static final DataType STRING = DataTypes.StringType;
    static final DataType BOOLEAN = DataTypes.BooleanType;
    static final DataType INT = DataTypes.IntegerType;
    static final DataType BIGINT = DataTypes.LongType;
    static final DataType FLOAT = DataTypes.FloatType;
    static final DataType DOUBLE = DataTypes.DoubleType;
    static final DataType BYTES = DataTypes.BinaryType;
    static final DataType DATE = DataTypes.DateType;
    static final DataType TIMESTAMP = DataTypes.TimestampNTZType;
    static final DataType TIMESTAMP_LTZ = DataTypes.TimestampType;

    private static final Map<Class<?>, DataType> TYPES = Map.of(
        UTF8String.class, STRING, byte[].class, BYTES, boolean.class, BOOLEAN, int.class, INT, long.class, BIGINT,
        float.class, FLOAT, double.class, DOUBLE);

    private final String name;
    private final DataType result;
    private final DataType[] parameters;

    /** The type of a result or parameter in SQL, if the Java type stands for several. */
    @Retention(RetentionPolicy.RUNTIME)
    @interface Sql {
        String value();
    }

    /** Take the name from the class, such as to_local of ToLocal, and the types from the method {@code invoke}. */
    FlinkFunction() {
        name = getClass().getSimpleName().replaceAll("(?<=[a-z])(?=[A-Z0-9])", "_").toLowerCase(Locale.ROOT);
        Method method =
            Stream.of(getClass().getMethods()).filter(m -> m.getName().equals("invoke")).findFirst().orElseThrow();
        result = type(method.getReturnType(), method.getAnnotation(Sql.class));
        parameters = Stream.of(method.getParameters())
            .map(parameter -> type(parameter.getType(), parameter.getAnnotation(Sql.class)))
            .toArray(DataType[]::new);
    }

    private static DataType type(Class<?> type, Sql sql) {
        return sql == null ? TYPES.get(MethodType.methodType(type).unwrap().returnType()) : DataType.fromDDL(sql.value());
    }

    /** For types that depend on the arguments. */
    FlinkFunction(String name, DataType result, DataType... parameters) {
        this.name = name;
        this.result = result;
        this.parameters = parameters;
    }

    /** Return the error that Spark's {@code raise_error} raises. */
    static RuntimeException error(String message, Object value) {
        return error(message + ": " + value);
    }

    static RuntimeException error(String message) {
        Tuple2<String, String> parameter = new Tuple2<>("errorMessage", message);
        return new SparkRuntimeException(
            "USER_RAISED_EXCEPTION", Map$.MODULE$.from(Seqs.of(parameter)), null, new QueryContext[0], "");
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final String description() {
        return name;
    }

    @Override
    public final String canonicalName() {
        return "kafka_sql." + name;
    }

    @Override
    public BoundFunction bind(StructType arguments) {
        return this;
    }

    @Override
    public final DataType resultType() {
        return result;
    }

    @Override
    public DataType[] inputTypes() {
        return parameters;
    }
}
