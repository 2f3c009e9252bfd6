package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.io.Serializable;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.classic.ExpressionUtils;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.ObjectType;
import org.apache.spark.sql.types.StructType;
import scala.collection.immutable.Seq;

/**
 * Converts structs to bytes and back, in Spark's own binary format of rows (UnsafeRow).
 *
 * <p>Stateful operators receive, keep and return rows as bytes. So no column is converted to an object of Java and
 * back, and two rows are equal if their bytes are.
 */
public final class RowPacker implements Serializable {
    private static final long serialVersionUID = 1;

    private final StructType type;
    private transient UnsafeProjection projection;

    public RowPacker(StructType type) {
        this.type = type;
    }

    /** The expression that converts a struct to bytes. */
    public static Column pack(Column struct, StructType type) {
        return call(new RowPacker(type), "toBytes", DataTypes.BinaryType, struct);
    }

    /** The expression that converts bytes to a struct. */
    public static Column unpack(Column bytes, StructType type) {
        return call(new RowPacker(type), "toRow", type, bytes);
    }

    private static Column call(RowPacker packer, String method, DataType result, Column argument) {
        Expression target = Literal.fromObject(packer, new ObjectType(RowPacker.class));
        Seq<Expression> arguments = Seqs.of(ExpressionUtils.expression(argument));
        return ExpressionUtils.column(new Invoke(target, method, result, arguments, Seqs.of(), true, false, true));
    }

    int length() {
        return type.length();
    }

    public byte[] toBytes(InternalRow row) {
        if (projection == null) projection = UnsafeProjection.create(type);
        return projection.apply(row).copy().getBytes(); // the projection reuses its row
    }

    public UnsafeRow toRow(byte[] bytes) {
        return toRow(bytes, type.length());
    }

    /** The text in plans, which is the same in each session. */
    @Override
    public String toString() {
        return "RowPacker";
    }

    static UnsafeRow toRow(byte[] bytes, int columns) {
        UnsafeRow row = new UnsafeRow(columns);
        row.pointTo(bytes, bytes.length);
        return row;
    }
}
