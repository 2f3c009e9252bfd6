package io.github.kafkasql.state;

import io.github.kafkasql.Seqs;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Lag;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.SortOrder;
import org.apache.spark.sql.catalyst.expressions.aggregate.DeclarativeAggregate;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The functions of an OVER window.
 *
 * @param functions aggregate functions and LAG, over the columns
 * @param filters the condition of FILTER of each; null without one
 * @param isRows whether the frame of each is ROWS, or else RANGE
 * @param preceding where the frame of each begins, in rows or microseconds; {@link OverFrame#UNBOUNDED}
 */
public record OverCalls(Expression[] functions, Expression[] filters, boolean[] isRows, long[] preceding) {
    private record Frame(boolean isRows, long preceding) {}

    StructType type() {
        StructType type = new StructType();
        for (int i = 0; i < functions.length; i++) type = type.add("r" + i, functions[i].dataType());
        return type;
    }

    OverWindow window(Attribute[] columns, SortOrder[] order) {
        int[] arguments = arguments(columns);
        Attribute[] input = Arrays.stream(arguments).mapToObj(i -> columns[i]).toArray(Attribute[]::new);
        List<OverFrame> frames = new ArrayList<>();
        Map<Frame, List<Integer>> aggregates = new LinkedHashMap<>();
        for (int i = 0; i < functions.length; i++) {
            if (functions[i] instanceof Lag lag) frames.add(lagFrame(lag, i, input));
            else aggregates.computeIfAbsent(new Frame(isRows[i], preceding[i]), key -> new ArrayList<>()).add(i);
        }
        aggregates.forEach((frame, positions) -> frames.add(new AggregateFrame(
            frame.isRows(), frame.preceding(), positions.stream().mapToInt(Integer::intValue).toArray(),
            positions.stream().map(i -> (DeclarativeAggregate) resolve(functions[i]))
                .toArray(DeclarativeAggregate[]::new),
            positions.stream().map(i -> resolve(filters[i])).toArray(Expression[]::new), input)));
        return new OverWindow(frames.toArray(OverFrame[]::new), type(), columns, arguments, order);
    }

    private int[] arguments(Attribute[] columns) {
        List<Expression> expressions = new ArrayList<>(Arrays.asList(functions));
        for (Expression filter : filters) if (filter != null) expressions.add(filter);
        List<Object> ids = expressions.stream()
            .flatMap(expression -> CollectionConverters.asJava(expression.references().toSeq()).stream())
            .map(column -> (Object) column.exprId()).toList();
        return IntStream.range(0, columns.length)
            .filter(i -> ids.contains(columns[i].exprId())).toArray();
    }

    private static OverFrame lagFrame(Lag lag, int position, Attribute[] input) {
        long offset = ((Number) ((Expression) lag.productElement(1)).eval(null)).longValue();
        Expression fallback = resolve((Expression) lag.productElement(2));
        return new LagFrame(offset, position, resolve((Expression) lag.productElement(0)), fallback, input);
    }

    static Expression resolve(Expression node) {
        if (node == null || node instanceof AttributeReference) return node;
        if (node instanceof RuntimeReplaceable call) return resolve(call.replacement());
        Expression[] children = CollectionConverters.asJava(node.children()).stream()
            .map(OverCalls::resolve).toArray(Expression[]::new);
        return node.withNewChildren(Seqs.of(children));
    }
}
