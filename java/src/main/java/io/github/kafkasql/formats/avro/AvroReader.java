package io.github.kafkasql.formats.avro;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.kafkasql.formats.PayloadDecoder;
import io.github.kafkasql.formats.avro.AvroValueReader.Unreadable;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.NameValidator;
import org.apache.avro.Schema;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.parsing.ResolvingGrammarGenerator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/**
 * Decodes records of a writer's schema to rows, by the rules of kafka_sql/formats/avro/resolution.py.
 *
 * <p>Python has checked that the schema can be read as the columns.
 */
final class AvroReader {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final AvroValueReader root;
    private final AvroSkips skips = new AvroSkips();
    // of records that are used repeatedly, by path; comparing schemas by their content would take more than linear time
    private final Map<String, Map<Schema, AvroValueReader>> records = new HashMap<>();

    /** reader: a record whose fields are the columns, in their order. */
    AvroReader(StructType type, Schema reader, Schema writer) {
        this.root = read(writer, new AvroTarget(type, false, reader, ""));
    }

    /** Returns the last one of several schemas, which names types of the others. */
    static Schema parse(List<String> texts) {
        Schema.Parser parser = new Schema.Parser(NameValidator.NO_VALIDATION);
        parser.setValidateDefaults(false);
        return texts.stream().map(parser::parse).reduce((first, next) -> next).orElseThrow();
    }

    /** Decodes a payload. Throws Mismatch if it is malformed. */
    InternalRow read(AvroInput in) {
        try {
            return (InternalRow) root.read(in);
        } catch (IOException | AvroRuntimeException e) {
            throw in.mismatch(e);
        }
    }

    private AvroValueReader read(Schema writer, AvroTarget to) {
        AvroValueReader found = switch (writer.getType()) {
            case UNION -> AvroValueReader.union(writer, branch -> read(branch, to));
            case NULL -> to.nullable() ? in -> null : new Unreadable("is null, but declared NOT NULL");
            case RECORD -> to.type() instanceof StructType ? record(writer, to) : null;
            case ARRAY -> to.type() instanceof ArrayType ? array(writer, to) : null;
            case MAP -> to.type() instanceof MapType ? map(writer, to) : null;
            default -> AvroScalars.read(writer, to);
        };
        return found == null ? mismatch(writer, to) : found;
    }

    private static Unreadable mismatch(Schema writer, AvroTarget to) {
        String logicalType = AvroScalars.logicalType(writer);
        String type = writer.getFullName() + (logicalType.isEmpty() ? "" : " (" + logicalType + ")");
        return to.path().isEmpty()
            ? new Unreadable("the payload is " + type + ", expected a record with the table's columns as its fields")
            : new Unreadable("found " + type + ", expected a type that can be read as " + to.type().sql());
    }

    private AvroValueReader record(Schema writer, AvroTarget to) {
        Map<Schema, AvroValueReader> known = records.computeIfAbsent(to.path(), path -> new IdentityHashMap<>());
        AvroValueReader found = known.get(writer);
        if (found == null) known.put(writer, found = createRecord(writer, to));
        return found;
    }

    private AvroValueReader createRecord(Schema writer, AvroTarget to) {
        List<Schema.Field> columns = to.nonNullReader().getFields();
        List<Schema.Field> fields = writer.getFields();
        int[] targets = findColumns(writer, columns);
        AvroValueReader[] readers = new AvroValueReader[targets.length];
        String[] paths = new String[targets.length];
        Object[] row = new Object[columns.size()]; // with defaults
        boolean[] isRead = new boolean[row.length];
        for (int i = 0; i < targets.length; i++) {
            if (targets[i] < 0) {
                readers[i] = skips.skip(fields.get(i).schema());
                paths[i] = to.fieldPath(PayloadDecoder.shorten(fields.get(i).name()));
                continue;
            }
            AvroTarget column = to.field(columns.get(targets[i]));
            readers[i] = read(fields.get(i).schema(), column);
            paths[i] = column.path();
            isRead[targets[i]] = true;
            if (readers[i] instanceof Unreadable unreadable) return unreadable.inField(column.path());
        }
        for (int k = 0; k < row.length; k++) {
            if (isRead[k]) continue;
            AvroTarget column = to.field(columns.get(k));
            try {
                row[k] = defaultValue(to.nonNullReader(), k, column);
            } catch (IOException | RuntimeException e) {
                return new Unreadable("field '" + column.path() + "': the writer does not have it: " + e.getMessage());
            }
        }
        return in -> {
            Object[] values = row.clone();
            for (int i = 0; i < readers.length; i++) {
                in.path = paths[i];
                Object value = readers[i].read(in);
                if (targets[i] >= 0) values[targets[i]] = value;
            }
            return new GenericInternalRow(values);
        };
    }

    /** Returns the column of each of the writer's fields, -1 if there is none: by name, or else by an alias. */
    private static int[] findColumns(Schema writer, List<Schema.Field> columns) {
        Map<String, Schema.Field> byName = new HashMap<>();
        for (Schema.Field column : columns) {
            column.aliases().forEach(alias -> byName.put(alias, column));
            byName.put(column.name(), column);
        }
        Set<String> found = new HashSet<>();
        return writer.getFields().stream().mapToInt(field -> {
            Schema.Field column = byName.get(field.name());
            if (column == null) return -1;
            boolean isOther = !column.name().equals(field.name()) && writer.getField(column.name()) != null;
            return isOther || !found.add(column.name()) ? -1 : column.pos();
        }).toArray();
    }

    /** Returns the default of a field of the reader's record, by writing it as the value would be written. */
    private Object defaultValue(Schema record, int field, AvroTarget to) throws IOException {
        JsonNode value = JSON.readTree(record.toString()).get("fields").get(field).get("default");
        if (value.isNull() && to.nullable()) return null;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ResolvingGrammarGenerator.encode(EncoderFactory.get().directBinaryEncoder(out, null), to.reader(), value);
        AvroInput in = new AvroInput();
        in.open(out.toByteArray(), 0);
        return read(to.reader(), to).read(in);
    }

    private AvroValueReader array(Schema writer, AvroTarget to) {
        AvroTarget element = to.element();
        AvroValueReader reader = read(writer.getElementType(), element);
        if (reader instanceof Unreadable) return reader;
        return in -> {
            List<Object> elements = new ArrayList<>();
            for (long left; (left = in.readBlock()) > 0; in.path = to.path()) {
                for (; left > 0; left--) {
                    in.path = element.path();
                    elements.add(reader.read(in));
                }
            }
            return new GenericArrayData(elements.toArray());
        };
    }

    private AvroValueReader map(Schema writer, AvroTarget to) {
        AvroTarget item = to.element();
        AvroValueReader reader = read(writer.getValueType(), item);
        if (reader instanceof Unreadable) return reader;
        return in -> {
            Map<Object, Object> entries = new LinkedHashMap<>(); // the last value of a key, where the first one was
            for (long left; (left = in.readBlock()) > 0; in.path = to.path()) {
                for (; left > 0; left--) {
                    in.path = to.path();
                    Object key = AvroScalars.text(in.readBytes());
                    in.path = item.path();
                    entries.put(key, reader.read(in));
                }
            }
            return new ArrayBasedMapData(
                new GenericArrayData(entries.keySet().toArray()), new GenericArrayData(entries.values().toArray()));
        };
    }
}
