package io.github.kafkasql.formats.avro;

import org.apache.avro.Schema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A column, or a value inside it.
 *
 * @param reader its type in the reader's schema
 */
record AvroTarget(DataType type, boolean nullable, Schema reader, String path) {
    /** Returns the reader's type if it is not null. Python has checked that a union has one such type. */
    Schema nonNullReader() {
        if (reader.getType() != Schema.Type.UNION) return reader;
        return reader.getTypes().stream().filter(type -> type.getType() != Schema.Type.NULL).findFirst().orElseThrow();
    }

    /** Returns a field of a ROW, which has a field of the reader's record. */
    AvroTarget field(Schema.Field field) {
        StructField column = ((StructType) type).fields()[field.pos()];
        return new AvroTarget(column.dataType(), column.nullable(), field.schema(), fieldPath(field.name()));
    }

    String fieldPath(String name) {
        return path.isEmpty() ? name : path + "." + name;
    }

    /** Returns an element of an ARRAY, or a value of a MAP. */
    AvroTarget element() {
        if (type instanceof MapType map) {
            return new AvroTarget(map.valueType(), map.valueContainsNull(), nonNullReader().getValueType(), path + "[]");
        }
        ArrayType array = (ArrayType) type;
        return new AvroTarget(array.elementType(), array.containsNull(), nonNullReader().getElementType(), path + "[]");
    }
}
