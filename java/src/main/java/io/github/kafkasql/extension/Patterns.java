package io.github.kafkasql.extension;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

/** The regular expressions that kafka_sql/options/masking.py put into the jar when it was built. */
final class Patterns {
    private Patterns() {}

    static String read(String name) {
        InputStream pattern = Patterns.class.getResourceAsStream(name);
        try {
            return new String(pattern.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
