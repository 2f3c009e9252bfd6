package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A message and its fields, as kafka_sql/realtime/protobuf_plans.py describes them. */
final class ProtobufMessage implements Serializable {
    final String name;
    final ProtobufField[] fields; // by number
    final ProtobufField[] byColumn; // null for a column without a field
    final ProtobufField[] required;
    final int oneofCount;
    final NotNull[] notNull;

    /** A column that is declared NOT NULL. position: among all columns, to report the first one. */
    static final class NotNull implements Serializable {
        final int column;
        final String path;
        final int position;

        NotNull(Map plan) {
            this.column = PlanTables.number(plan, "column");
            this.path = (String) plan.get("path");
            this.position = PlanTables.number(plan, "position");
        }
    }

    /** type: the columns, or the ROW. */
    ProtobufMessage(Map plan, StructType type) {
        this.name = (String) plan.get("name");
        List fieldPlans = (List) plan.get("fields");
        StructField[] columns = type.fields();
        this.fields = new ProtobufField[fieldPlans.size()];
        this.byColumn = new ProtobufField[columns.length];
        List required = new ArrayList();
        for (int i = 0; i < fields.length; i++) {
            Map fieldPlan = (Map) fieldPlans.get(i);
            int column = PlanTables.number(fieldPlan, "column");
            fields[i] = new ProtobufField(fieldPlan, i, column < 0 ? null : columns[column].dataType());
            if (column >= 0) byColumn[column] = fields[i];
            if (fields[i].isRequired) required.add(fields[i]);
        }
        this.required = (ProtobufField[]) required.toArray(new ProtobufField[0]);
        int oneofCount = 0;
        for (int i = 0; i < fields.length; i++) {
            oneofCount = Math.max(oneofCount, fields[i].oneof + 1);
            if (fields[i].oneof >= 0 && fields[i].column >= 0) fields[i].findLaterColumns(fields);
        }
        this.oneofCount = oneofCount;
        List notNullPlans = (List) plan.get("not_null");
        this.notNull = new NotNull[notNullPlans.size()];
        for (int i = 0; i < notNull.length; i++) notNull[i] = new NotNull((Map) notNullPlans.get(i));
    }

    /** Returns the index of a field, or -1. next: the index to try first; most messages have their fields in order. */
    int find(int number, int next) {
        if (next < fields.length && fields[next].number == number) return next;
        int low = 0;
        int high = fields.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            int found = fields[middle].number;
            if (found == number) return middle;
            if (found < number) low = middle + 1;
            else high = middle - 1;
        }
        return -1;
    }
}
