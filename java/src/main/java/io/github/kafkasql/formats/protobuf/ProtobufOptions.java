package io.github.kafkasql.formats.protobuf;

import java.io.Serializable;

/**
 * How messages are decoded.
 *
 * @param readsDefaults whether an absent field is its default, not null
 * @param ignoresErrors whether malformed messages are skipped
 */
public record ProtobufOptions(boolean readsDefaults, boolean ignoresErrors) implements Serializable {}
