package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.util.LinkedList;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;

/** LAG: a value of the row that is some rows before the current one, or a default that is computed from the current row. */
final class LagFrame extends OverFrame {
    private static final long serialVersionUID = 1;

    private final Expression value;
    private final Expression fallback;
    private final Attribute[] input;
    private transient MutableProjection projection; // of the value and the fallback
    private transient LinkedList<Object> values; // of the frame; they can be null

    LagFrame(long offset, int position, Expression value, Expression fallback, Attribute[] input) {
        super(true, offset, new int[] {position});
        this.value = value;
        this.fallback = fallback;
        this.input = input;
    }

    @Override
    void open() {
        projection = MutableProjection.create(Seqs.of(value, fallback), Seqs.of(input))
            .target(new GenericInternalRow(2));
    }

    @Override
    void begin(byte[] accumulators) {
        values = new LinkedList<>();
    }

    @Override
    void add(InternalRow row, long time) {
        values.addLast(projection.apply(row).get(0, value.dataType()));
        if (values.size() > preceding + 1) values.removeFirst();
    }

    @Override
    void writeResults(InternalRow row, Object[] results) {
        boolean exists = values.size() > preceding;
        results[positions[0]] = exists ? values.getFirst() : projection.apply(row).get(1, fallback.dataType());
    }

    @Override
    byte[] accumulators() {
        throw new UnsupportedOperationException("The frame of LAG is bounded.");
    }
}
