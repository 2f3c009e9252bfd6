package io.github.kafkasql.formats.avro;

import java.util.IdentityHashMap;
import java.util.Map;
import org.apache.avro.Schema;

/** Skips values of a writer's schema that no column has. */
final class AvroSkips {
    // comparing schemas by their content would take more than linear time
    private final Map<Schema, AvroValueReader> skips = new IdentityHashMap<>();
    private final Map<Schema, Boolean> areEmpty = new IdentityHashMap<>();

    /** Returns what skips a value. No step of it is for less than a byte, however often a record is used. */
    AvroValueReader skip(Schema schema) {
        AvroValueReader known = skips.get(schema);
        if (known == null) skips.put(schema, known = createSkip(schema));
        return known;
    }

    private AvroValueReader createSkip(Schema schema) {
        if (isEmpty(schema)) return in -> null;
        return switch (schema.getType()) {
            case INT, LONG, ENUM -> AvroInput::readLong;
            case STRING, BYTES -> AvroInput::skipBytes;
            case BOOLEAN -> in -> in.skipFixed(1);
            case FLOAT -> in -> in.skipFixed(4);
            case DOUBLE -> in -> in.skipFixed(8);
            case FIXED -> in -> in.skipFixed(schema.getFixedSize());
            case UNION -> AvroValueReader.union(schema, this::skip);
            case ARRAY -> isEmpty(schema.getElementType())
                ? AvroInput::skipBlocks
                : skipBlocks(skip(schema.getElementType()), false);
            case MAP -> skipBlocks(skip(schema.getValueType()), true);
            default -> skipRecord(schema);
        };
    }

    private AvroValueReader skipRecord(Schema schema) {
        AvroValueReader[] parts = schema.getFields().stream().map(Schema.Field::schema)
            .filter(part -> !isEmpty(part)).map(this::skip).toArray(AvroValueReader[]::new);
        if (parts.length == 1) return parts[0];
        return in -> {
            for (AvroValueReader part : parts) part.read(in);
            return null;
        };
    }

    private static AvroValueReader skipBlocks(AvroValueReader element, boolean isMap) {
        return in -> {
            for (long left; (left = in.readBlock()) > 0; ) {
                for (; left > 0; left--) {
                    if (isMap) in.skipBytes();
                    element.read(in);
                }
            }
            return null;
        };
    }

    /** Returns whether every value of a type takes no bytes. */
    private boolean isEmpty(Schema schema) {
        return switch (schema.getType()) {
            case NULL -> true;
            case FIXED -> schema.getFixedSize() == 0;
            case RECORD -> {
                Boolean known = areEmpty.get(schema);
                if (known == null) {
                    known = schema.getFields().stream().allMatch(field -> isEmpty(field.schema()));
                    areEmpty.put(schema, known);
                }
                yield known;
            }
            default -> false;
        };
    }
}
