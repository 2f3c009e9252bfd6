package io.github.kafkasql.formats.avro;

import java.io.IOException;
import java.util.function.Function;
import org.apache.avro.Schema;

/** Reads a value, and returns it as Spark represents it. */
@FunctionalInterface
interface AvroValueReader {
    Object read(AvroInput in) throws IOException;

    /** What is read of a branch of a union that cannot be read as the column. */
    record Unreadable(String reason) implements AvroValueReader {
        @Override
        public Object read(AvroInput in) {
            throw in.mismatch(reason);
        }

        Unreadable inField(String path) {
            return reason.startsWith("field '") ? this : new Unreadable("field '" + path + "': " + reason);
        }
    }

    /** Returns what reads a union. read: returns what reads a branch. */
    static AvroValueReader union(Schema union, Function<Schema, AvroValueReader> read) {
        AvroValueReader[] branches = union.getTypes().stream().map(read).toArray(AvroValueReader[]::new);
        return in -> {
            int branch = in.readInt();
            if (branch < 0 || branch >= branches.length) throw new IOException("the union has no such branch");
            return branches[branch].read(in);
        };
    }
}
