package io.github.kafkasql.formats;

import java.io.Serializable;

/**
 * Converts a value that is not null to a column's value in Spark's internal form.
 *
 * <p>A value of another form raises NumberFormatException with what was expected, or Mismatch.
 */
@FunctionalInterface
public interface Converter<T> extends Serializable {
    Object convert(T value);
}
