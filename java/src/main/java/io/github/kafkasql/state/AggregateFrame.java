package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.JoinedRow;
import org.apache.spark.sql.catalyst.expressions.MutableProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's aggregate functions over a frame.
 *
 * <p>The first row of a bounded frame is removed without a retraction, in constant time on average: older rows have the
 * accumulators of themselves and all older rows after them, and newer rows have common ones. The result is that of both
 * merged. When no older row is left, all newer rows become older.
 */
final class AggregateFrame extends OverFrame {
    private static final long serialVersionUID = 1;
    private static final InternalRow EMPTY = new GenericInternalRow(0);

    private final DeclarativeAggregate[] functions;
    private final Expression[] filters; // of FILTER; null without one
    private final Attribute[] input;
    private transient RowPacker packer;
    private transient StructType type; // of the accumulators
    private transient MutableProjection initial;
    private transient MutableProjection update;
    private transient MutableProjection merge;
    private transient MutableProjection evaluate;
    private transient JoinedRow pair;
    private transient GenericInternalRow accumulators; // of newer rows
    private transient List<Added> newer;
    private transient ArrayDeque<Added> older; // the first row of the frame is the first one

    /** A row of the frame, or its accumulators. */
    private record Added(InternalRow row, long time) {}

    AggregateFrame(
            boolean isRows, long preceding, int[] positions, DeclarativeAggregate[] functions, Expression[] filters,
            Attribute[] input) {
        super(isRows, preceding, positions);
        this.functions = functions;
        this.filters = filters;
        this.input = input;
    }

    @Override
    void open() {
        List<Attribute> buffer = new ArrayList<>();
        List<Attribute> merged = new ArrayList<>();
        List<Expression> initials = new ArrayList<>();
        List<Expression> updates = new ArrayList<>();
        List<Expression> merges = new ArrayList<>();
        List<Expression> results = new ArrayList<>();
        type = new StructType();
        for (int i = 0; i < functions.length; i++) {
            DeclarativeAggregate function = functions[i];
            List<? extends Attribute> own = CollectionConverters.asJava(function.aggBufferAttributes());
            List<Expression> ownUpdates = CollectionConverters.asJava(function.updateExpressions());
            for (int j = 0; j < own.size(); j++) {
                type = type.add("c" + buffer.size(), own.get(j).dataType());
                buffer.add(own.get(j));
                Expression updated = ownUpdates.get(j);
                updates.add(filters[i] == null ? updated : new If(filters[i], updated, own.get(j)));
            }
            initials.addAll(CollectionConverters.asJava(function.initialValues()));
            merged.addAll(CollectionConverters.asJava(function.inputAggBufferAttributes()));
            if (isBounded()) merges.addAll(CollectionConverters.asJava(function.mergeExpressions()));
            results.add(function.evaluateExpression());
        }
        packer = new RowPacker(type);
        pair = new JoinedRow();
        initial = project(initials, List.of());
        update = project(updates, concat(buffer, List.of(input)));
        if (isBounded()) merge = project(merges, concat(buffer, merged));
        evaluate = project(results, buffer).target(new GenericInternalRow(functions.length));
    }

    private static List<Attribute> concat(List<Attribute> first, List<Attribute> second) {
        List<Attribute> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    private static MutableProjection project(List<Expression> expressions, List<Attribute> input) {
        return MutableProjection.create(
            Seqs.of(expressions.toArray(Expression[]::new)), Seqs.of(input.toArray(Attribute[]::new)));
    }

    @Override
    void begin(byte[] packed) {
        newer = new ArrayList<>();
        older = new ArrayDeque<>();
        accumulators = initialAccumulators();
        if (packed == null) return;
        UnsafeRow row = packer.toRow(packed);
        for (int i = 0; i < type.length(); i++) accumulators.update(i, row.get(i, type.apply(i).dataType()));
    }

    private GenericInternalRow initialAccumulators() {
        GenericInternalRow row = new GenericInternalRow(type.length());
        initial.target(row).apply(EMPTY);
        return row;
    }

    @Override
    void add(InternalRow row, long time) {
        update.target(accumulators).apply(pair.apply(accumulators, row));
        if (!isBounded()) return;
        newer.add(new Added(row, time));
        while (isRows ? older.size() + newer.size() > preceding + 1 : first().time() < time - preceding) {
            if (older.isEmpty()) makeOlder();
            older.removeFirst();
        }
    }

    private Added first() {
        return older.isEmpty() ? newer.get(0) : older.getFirst();
    }

    private void makeOlder() {
        InternalRow following = null;
        for (int i = newer.size() - 1; i >= 0; i--) {
            GenericInternalRow row = initialAccumulators();
            update.target(row).apply(pair.apply(row, newer.get(i).row()));
            if (following != null) merge.target(row).apply(pair.apply(row, following));
            older.addFirst(new Added(row, newer.get(i).time()));
            following = row;
        }
        newer.clear();
        accumulators = initialAccumulators();
    }

    @Override
    void writeResults(InternalRow row, Object[] results) {
        InternalRow all = accumulators;
        if (!older.isEmpty()) {
            all = new GenericInternalRow(type.length());
            merge.target(all).apply(pair.apply(older.getFirst().row(), accumulators));
        }
        InternalRow values = evaluate.apply(all);
        for (int i = 0; i < functions.length; i++) results[positions[i]] = values.get(i, functions[i].dataType());
    }

    @Override
    byte[] accumulators() {
        return packer.toBytes(accumulators);
    }
}
