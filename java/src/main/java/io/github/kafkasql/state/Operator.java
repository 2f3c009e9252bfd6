package io.github.kafkasql.state;

import java.util.List;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.ValueState;
import scala.Tuple2;
import scala.collection.Iterator;
import scala.jdk.javaapi.CollectionConverters;

/** A stateful operator whose keys, rows and state are bytes of {@link RowPacker}. Each row comes with its key. */
abstract class Operator extends StatefulProcessor<byte[], Tuple2<byte[], byte[]>, byte[]> {
    private static final long serialVersionUID = 1;

    final ValueState<byte[]> valueState(String name) {
        return getHandle().getValueState(name, Encoders.BINARY(), TTLConfig.NONE());
    }

    final MapState<byte[], byte[]> mapState(String name) {
        return getHandle().getMapState(name, Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    }

    static Iterator<byte[]> results(List<byte[]> rows) {
        return CollectionConverters.asScala(rows.iterator());
    }
}
