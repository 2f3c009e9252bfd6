package io.github.kafkasql.formats.raw;

import io.github.kafkasql.formats.PayloadParser;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;

/**
 * The options of the raw format.
 *
 * @param charset Java's name
 * @param lineDelimiter null if a payload is one value
 */
public record RawOptions(String charset, boolean isBigEndian, String lineDelimiter) implements Serializable {
    /** Returns the options in a JSON object, with names in snake case. */
    public static RawOptions parse(String json) {
        return PayloadParser.parseOptions(json, RawOptions.class);
    }

    ByteBuffer buffer(byte[] bytes) {
        return ByteBuffer.wrap(bytes).order(isBigEndian ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
    }

    /** Returns the number of bytes of a number or BOOLEAN. */
    static int size(DataType type) {
        return type instanceof BooleanType ? 1 : type.defaultSize();
    }
}
