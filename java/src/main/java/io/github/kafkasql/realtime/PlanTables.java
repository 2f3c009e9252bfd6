package io.github.kafkasql.realtime;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;

/** Reads the tables of a decode plan, which Python sends as a JSON object. */
final class PlanTables {
    /** Returns the JSON object that Python sends. */
    static Map parse(String text) {
        try {
            return (Map) JsonDocument.parse(text.getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Returns rows of numbers. */
    static long[][] rows(Map plan, String key) {
        List rows = (List) plan.get(key);
        long[][] table = new long[rows.size()][];
        for (int i = 0; i < table.length; i++) table[i] = numbers((List) rows.get(i));
        return table;
    }

    static long[] numbers(List list) {
        long[] numbers = new long[list.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Long.parseLong(((JsonDocument.Number) list.get(i)).text);
        }
        return numbers;
    }

    /** Returns a number; 0 if there is none. */
    static int number(Map plan, String key) {
        Object number = plan.get(key);
        return number == null ? 0 : Integer.parseInt(((JsonDocument.Number) number).text);
    }

    static String[] texts(Map plan, String key) {
        return (String[]) ((List) plan.get(key)).toArray(new String[0]);
    }

    /** Returns bytes that are written as hexadecimal text; null for null. */
    static byte[][] bytes(Map plan, String key) {
        String[] texts = texts(plan, key);
        byte[][] bytes = new byte[texts.length][];
        for (int i = 0; i < bytes.length; i++) bytes[i] = texts[i] == null ? null : bytes(texts[i]);
        return bytes;
    }

    /** Returns bytes that are written as hexadecimal text. */
    static byte[] bytes(String text) {
        byte[] bytes = new byte[text.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) Integer.parseInt(text.substring(2 * i, 2 * i + 2), 16);
        }
        return bytes;
    }

    private PlanTables() {}
}
