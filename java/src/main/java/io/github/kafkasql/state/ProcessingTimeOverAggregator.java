package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.Tuple2;
import scala.collection.Iterator;

/**
 * Flink's OverAggregate by processing time: rows are in the order of arrival, and their results are final. The time of a
 * row is that of its micro-batch.
 *
 * <p>Input and output are those of {@link EventTimeOverAggregator}.
 */
final class ProcessingTimeOverAggregator extends Operator {
    private static final long serialVersionUID = 1;

    private final OverWindow window;
    private transient OverRows rows;

    ProcessingTimeOverAggregator(OverWindow window) {
        this.window = window;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        window.open();
        rows = new OverRows(window, valueState("window"), mapState("rows"));
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> input, TimerValues timers) {
        List<OverEvent> events = OverEvent.readAll(input);
        List<byte[]> output = new ArrayList<>(events.size());
        long time = events.get(0).time();
        rows.begin();
        List<UnsafeRow> peers = events.stream().map(event -> window.row(event.row())).toList();
        rows.add(peers, time, output);
        rows.save(time);
        return results(output);
    }
}
