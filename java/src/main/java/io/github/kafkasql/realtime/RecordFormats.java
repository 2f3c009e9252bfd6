package io.github.kafkasql.realtime;

import io.github.kafkasql.Seqs;
import io.github.kafkasql.formats.PayloadDecoder;
import java.util.Arrays;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;

/** The expressions that decode payloads, convert headers, and encode rows. */
public final class RecordFormats {
    /** The rows of a payload, an array of structs. record: payload, topic, partition, offset. */
    public static Column decode(Column[] record, StructType type, PayloadDecoder decoder) {
        return call(decoder, PayloadDecoder.class, "decode", DataTypes.createArrayType(type), record);
    }

    public static Column encode(Column struct, RowEncoder encoder) {
        return call(encoder, RowEncoder.class, "encode", DataTypes.BinaryType, struct);
    }

    /** The headers of a record as a map. */
    public static Column headerMap(Column headers) {
        DataType type = DataTypes.createMapType(DataTypes.StringType, DataTypes.BinaryType);
        return call(new HeaderMap(), HeaderMap.class, "convert", type, headers);
    }

    private static Column call(Object target, Class<?> type, String method, DataType result, Column... columns) {
        Expression[] arguments = Arrays.stream(columns).map(ExpressionUtils::expression).toArray(Expression[]::new);
        Expression object = Literal.fromObject(target, new ObjectType(type));
        // a null payload is passed to the decoder, too: in some formats, it is a row
        return ExpressionUtils.column(
            new Invoke(object, method, result, Seqs.of(arguments), Seqs.of(), false, true, true));
    }

    private RecordFormats() {}
}
