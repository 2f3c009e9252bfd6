package io.github.kafkasql.state;

/** What {@link Materializer} does with several rows of a key of the sink: Flink's {@code ON CONFLICT DO ...}. */
enum ConflictStrategy {
    /** The newest row is the sink's. */
    DEDUPLICATE,
    /** The first row is the sink's; others are forgotten. */
    NOTHING,
    /** The query fails. */
    ERROR
}
