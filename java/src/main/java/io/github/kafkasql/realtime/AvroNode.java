package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.spark.sql.types.*;

/** A column, or a type inside it, and how its values are encoded in Avro. Python has checked that the schema fits. */
final class AvroNode implements Serializable {
    final String path;
    final DataType type;
    final int nullBranch; // of a union with null; -1 if it is no union
    final int branch; // of the type in the union
    final long unitsPerMicro; // of a timestamp; a divisor is negative
    final long nanosPerUnit; // of a time
    final int size; // of a fixed; -1 for other types
    final Map symbols; // of an enum, in order, with their numbers; null for other types
    final AvroNode[] children;

    private AvroNode(String path, DataType type, Schema schema) {
        this.path = path;
        this.type = type;
        Schema value = schema;
        if (schema.getType() == Schema.Type.UNION) {
            List branches = schema.getTypes();
            this.nullBranch = ((Schema) branches.get(0)).getType() == Schema.Type.NULL ? 0 : 1;
            this.branch = 1 - nullBranch;
            value = (Schema) branches.get(branch);
        } else {
            this.nullBranch = -1;
            this.branch = 0;
        }
        String unit = value.getProp("logicalType") == null ? "" : value.getProp("logicalType");
        this.unitsPerMicro = unit.endsWith("-micros") ? 1 : unit.endsWith("-nanos") ? 1000 : -1000;
        this.nanosPerUnit = unit.endsWith("-micros") ? 1000 : 1000000;
        this.size = value.getType() == Schema.Type.FIXED ? value.getFixedSize() : -1;
        this.symbols = value.getType() == Schema.Type.ENUM ? numbers(value.getEnumSymbols()) : null;
        if (type instanceof StructType) {
            children = fields((StructType) type, value, path + ".");
        } else if (type instanceof ArrayType) {
            children = new AvroNode[] {new AvroNode(path + "[]", ((ArrayType) type).elementType(), value.getElementType())};
        } else if (type instanceof MapType) {
            children = new AvroNode[] {new AvroNode(path + "[]", ((MapType) type).valueType(), value.getValueType())};
        } else {
            children = new AvroNode[0];
        }
    }

    private static Map numbers(List symbols) {
        Map numbers = new LinkedHashMap();
        for (int i = 0; i < symbols.size(); i++) numbers.put(symbols.get(i), Integer.valueOf(i));
        return numbers;
    }

    static Schema parse(String schema) {
        Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
        parser.setValidateDefaults(false);
        return parser.parse(schema);
    }

    /** Returns the nodes of a record's fields, which are those of the struct, in the same order. */
    static AvroNode[] fields(StructType type, Schema record, String prefix) {
        StructField[] columns = type.fields();
        List fields = record.getFields();
        AvroNode[] nodes = new AvroNode[columns.length];
        for (int i = 0; i < nodes.length; i++) {
            Schema schema = ((Schema.Field) fields.get(i)).schema();
            nodes[i] = new AvroNode(prefix + columns[i].name(), columns[i].dataType(), schema);
        }
        return nodes;
    }
}
