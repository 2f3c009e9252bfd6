package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;

/** Flink's ChangelogNormalize: keeps the last row of each key, and adds the old rows to a stream of upserts. */
final class Normalizer extends Operator {
    private static final long serialVersionUID = 1;

    private final boolean returnsOldRows;
    private transient ValueState<byte[]> last;

    Normalizer(boolean returnsOldRows) {
        this.returnsOldRows = returnsOldRows;
    }

    @Override
    public void init(OutputMode mode, TimeMode time) {
        last = valueState("row");
    }

    @Override
    public Iterator<byte[]> handleInputRows(byte[] key, Iterator<Tuple2<byte[], byte[]>> rows, TimerValues timers) {
        byte[] before = last.get();
        byte[] now = before;
        List<Change> changes = Change.readAll(rows);
        List<byte[]> output = new ArrayList<>(2 * changes.size());
        for (Change change : changes) {
            if (change.kind() == RowKind.UPDATE_BEFORE) continue; // the state has the old row
            if (change.kind() == RowKind.DELETE) {
                if (now != null) output.add(new Change(RowKind.DELETE, change.order(), now).pack());
                now = null;
            } else if (now == null) {
                output.add(new Change(RowKind.INSERT, change.order(), change.row()).pack());
                now = change.row();
            } else if (!Arrays.equals(now, change.row())) {
                if (returnsOldRows) output.add(new Change(RowKind.UPDATE_BEFORE, change.order(), now).pack());
                output.add(new Change(RowKind.UPDATE_AFTER, change.order(), change.row()).pack());
                now = change.row();
            }
        }
        if (now == null && before != null) last.clear();
        else if (now != before) last.update(now);
        return results(output);
    }
}
