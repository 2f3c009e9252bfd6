package io.github.kafkasql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

final class ParseUrlTest {
    private static final UTF8String URL = text("http://a/b?x=1&y=2");
    private static final UTF8String QUERY = text("QUERY");

    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    @Test
    void readsKeys() {
        assertEquals(text("x=1&y=2"), ParseUrl.invoke(URL, QUERY));
        assertEquals(text("2"), ParseUrl.ParseUrlKey.invoke(URL, QUERY, text("y")));
        assertNull(ParseUrl.ParseUrlKey.invoke(URL, QUERY, text("z")));
        assertNull(ParseUrl.ParseUrlKey.invoke(URL, text("HOST"), text("y")));
        assertNull(ParseUrl.ParseUrlKey.invoke(URL, QUERY, null));
    }

    /** Spark uses the memory of a value again for the next row. */
    @Test
    void keepsKeys() {
        byte[] memory = {'p'};
        var values = new Memo<>(key -> new Object());
        Object value = values.get(UTF8String.fromBytes(memory));
        memory[0] = 'q';
        assertSame(value, values.get(text("p")));
    }
}
