package kafka_sql;

import java.io.Serializable;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.*;

/** A column, or a type inside it, and how its values are encoded in Avro. */
final class AvroNode implements Serializable {
    final String path;
    final DataType type;
    final boolean isUnion; // of null, the first branch, and the type
    final boolean allowsNull; // of the column; a decimal that is too large becomes null
    final long microsPerUnit; // of a timestamp
    final AvroNode[] children;

    private AvroNode(String path, DataType type, boolean allowsNull, Schema schema) {
        this.path = path;
        this.type = type;
        this.allowsNull = allowsNull;
        this.isUnion = schema.getType() == Schema.Type.UNION;
        Schema value = isUnion ? (Schema) schema.getTypes().get(1) : schema;
        String logicalType = value.getProp("logicalType");
        this.microsPerUnit = logicalType != null && logicalType.endsWith("-micros") ? 1 : 1000;
        if (type instanceof StructType) {
            children = fields((StructType) type, value, path + ".");
        } else if (type instanceof ArrayType) {
            ArrayType array = (ArrayType) type;
            Schema element = value.getElementType();
            children = new AvroNode[] {new AvroNode(path + "[]", array.elementType(), array.containsNull(), element)};
        } else if (type instanceof MapType) {
            MapType map = (MapType) type;
            Schema element = value.getValueType();
            children = new AvroNode[] {new AvroNode(path + "[]", map.valueType(), map.valueContainsNull(), element)};
        } else {
            children = new AvroNode[0];
        }
    }

    /** Returns the nodes of a record's fields, which are those of the struct, in the same order. */
    static AvroNode[] fields(StructType type, String schema) {
        return fields(type, new Schema.Parser().parse(schema), "");
    }

    private static AvroNode[] fields(StructType type, Schema record, String prefix) {
        StructField[] columns = type.fields();
        List fields = record.getFields();
        AvroNode[] nodes = new AvroNode[columns.length];
        for (int i = 0; i < nodes.length; i++) {
            Schema schema = ((Schema.Field) fields.get(i)).schema();
            nodes[i] = new AvroNode(prefix + columns[i].name(), columns[i].dataType(), columns[i].nullable(), schema);
        }
        return nodes;
    }
}
