package io.github.kafkasql.state;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** Flink's ChangelogNormalize: keeps the last row of each key, and adds the old rows to a stream of upserts. */
public final class Normalizer extends StatefulProcessor {
    private final boolean returnsOldRows;
    private ValueState last;

    Normalizer(boolean returnsOldRows) {
        this.returnsOldRows = returnsOldRows;
    }

    public void init(OutputMode mode, TimeMode time) {
        last = getHandle().getValueState("row", Encoders.BINARY(), TTLConfig.NONE());
    }

    public Iterator handleInputRows(Object key, Iterator rows, TimerValues timers) {
        byte[] before = (byte[]) last.get(), now = before;
        List changes = Change.readAll(rows), output = new ArrayList(2 * changes.size());
        for (int i = 0; i < changes.size(); i++) {
            Change change = (Change) changes.get(i);
            if (change.kind == Change.UPDATE_BEFORE) continue; // the state has the old row
            if (change.kind == Change.DELETE) {
                if (now != null) output.add(new Change(Change.DELETE, change.order, now).pack());
                now = null;
            } else if (now == null) {
                output.add(new Change(Change.INSERT, change.order, change.row).pack());
                now = change.row;
            } else if (!Arrays.equals(now, change.row)) {
                if (returnsOldRows) output.add(new Change(Change.UPDATE_BEFORE, change.order, now).pack());
                output.add(new Change(Change.UPDATE_AFTER, change.order, change.row).pack());
                now = change.row;
            }
        }
        if (now == null && before != null) last.clear();
        else if (now != before) last.update(now);
        return CollectionConverters.asScala(output.iterator());
    }
}
