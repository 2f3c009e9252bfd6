package io.github.kafkasql.formats;

import java.io.Serializable;

/**
 * What to do with undecodable records.
 *
 * @param part empty, or " (key)"
 * @param advice how to tolerate such records
 * @param mode 'error-handling.mode'
 */
public record ErrorHandling(String table, String part, String advice, String mode) implements Serializable {}
