package io.github.kafkasql.formats.avro;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.kafkasql.formats.Mismatch;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

/** A payload takes no more time and memory than its bytes allow, whatever it and its schema declare. */
class AvroReaderTest {
    private static final StructType COLUMNS = new StructType().add("k", DataTypes.IntegerType);

    private static Schema record(String otherField) {
        return AvroReader.parse(List.of(
            "{\"type\": \"record\", \"name\": \"R\", \"fields\": [" + otherField + "{\"name\": \"k\", \"type\": \"int\"}]}"));
    }

    private static int read(Schema writer, long... numbers) throws IOException {
        ByteArrayOutputStream payload = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(payload, null);
        for (long number : numbers) encoder.writeLong(number);
        AvroInput in = new AvroInput();
        in.open(payload.toByteArray(), 0);
        return assertTimeoutPreemptively(
            Duration.ofSeconds(5), () -> new AvroReader(COLUMNS, record(""), writer).read(in).getInt(0));
    }

    @Test
    void skipsElementsThatTakeNoBytes() throws IOException {
        Schema writer = record("{\"name\": \"a\", \"type\": {\"type\": \"array\", \"items\": \"null\"}}, ");
        assertEquals(7, read(writer, 1L << 60, -(1L << 60), 0, 0, 7));
    }

    @Test
    void skipsRecordsThatTakeNoBytes() throws IOException {
        StringBuilder type = new StringBuilder("{\"type\": \"record\", \"name\": \"R0\", \"fields\": []}");
        for (int i = 1; i <= 50; i++) { // each has the previous one twice
            type.insert(0, "{\"type\": \"record\", \"name\": \"R" + i + "\", \"fields\": [{\"name\": \"a\", \"type\": ");
            type.append("}, {\"name\": \"b\", \"type\": \"R" + (i - 1) + "\"}]}");
        }
        assertEquals(7, read(record("{\"name\": \"a\", \"type\": " + type + "}, "), 7));
    }

    @Test
    void checksALengthBeforeItAllocates() {
        Schema writer = record("{\"name\": \"s\", \"type\": \"bytes\"}, ");
        Mismatch e = assertThrows(Mismatch.class, () -> read(writer, Integer.MAX_VALUE - 8, 1));
        assertTrue(e.reason.startsWith("the payload ends before the value does (byte "), e.reason);
        assertEquals("s", e.path);
    }
}
