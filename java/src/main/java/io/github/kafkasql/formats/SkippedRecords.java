package io.github.kafkasql.formats;

import org.apache.spark.TaskContext;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Logs the undecodable records of a task as micro-batches do: the first ones, and at its end how many there were. */
final class SkippedRecords implements TaskCompletionListener {
    private static final int MAX_LOGGED = 10; // that are logged individually
    private static final Logger LOG = LoggerFactory.getLogger("kafka_sql.source");

    private final ErrorHandling errors;
    private final UTF8String topic;
    private final int partition;
    private final long first;
    private long last;
    private long count;

    /** Registers with the running task, which reads one partition. offset: of the first record. */
    SkippedRecords(ErrorHandling errors, UTF8String topic, int partition, long offset) {
        this.errors = errors;
        this.topic = topic.clone();
        this.partition = partition;
        this.first = offset;
        TaskContext task = TaskContext.get();
        if (task != null) task.addTaskCompletionListener(this);
    }

    void add(String message, long offset) {
        last = offset;
        if (++count <= MAX_LOGGED && errors.mode().equals("log")) {
            LOG.warn("table '" + errors.table() + "': skipped a record: [DECODE] " + Failures.oneLine(message));
        }
    }

    @Override
    public void onTaskCompletion(TaskContext task) {
        LOG.warn(
            "table '" + errors.table() + "': " + count + " records of " + topic + "[" + partition + "]" + errors.part()
                + " between offsets " + first + " and " + last + " could not be decoded and were skipped");
    }
}
