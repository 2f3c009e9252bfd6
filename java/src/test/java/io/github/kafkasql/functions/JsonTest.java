package io.github.kafkasql.functions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

final class JsonTest {
    private static UTF8String text(String text) {
        return UTF8String.fromString(text);
    }

    private static UTF8String value(String document) {
        return Json.JsonValue.invoke(text(document), text("$.a"), text(""), null, text(""), null);
    }

    @Test
    void readsNumbers() {
        assertEquals(text("1E+2147483647"), value("{\"a\": 1e2147483647}"));
        assertEquals(text("0.0"), value("{\"a\": -0.0}"));
        for (String number : new String[] {"1e99999999999", "1e-2147483648", "NaN", "1".repeat(1001)}) {
            String document = "{\"b\": " + number + ", \"a\": 1}";
            assertNull(value(document), number);
            assertFalse(JsonText.IsJson.invoke(text(document), text("VALUE")), number);
        }
    }
}
