import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.test.program.ConfigOptionTestStep;
import org.apache.flink.table.test.program.FailingSqlTestStep;
import org.apache.flink.table.test.program.SinkTestStep;
import org.apache.flink.table.test.program.SourceTestStep;
import org.apache.flink.table.test.program.SqlTestStep;
import org.apache.flink.table.test.program.StatementSetTestStep;
import org.apache.flink.table.test.program.TableTestProgram;
import org.apache.flink.table.test.program.TableTestStep;
import org.apache.flink.table.test.program.TestStep;
import org.apache.flink.table.types.logical.DecimalType;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;
import org.apache.flink.table.types.logical.utils.LogicalTypeParser;
import org.apache.flink.types.Row;

/** Prints the test programs in a jar of Flink, its argument, as a JSON array that is sorted by class and name. */
public final class FlinkPrograms {
    private static final Pattern COLUMN = Pattern.compile("`?([\\w$]+)`?\\s+(.*?)(\\s+PRIMARY KEY NOT ENFORCED)?", Pattern.DOTALL | Pattern.CASE_INSENSITIVE);
    private static final Pattern PROGRAMS = Pattern.compile(".*(Programs|SemanticTests?)\\.class");

    private FlinkPrograms() {}

    public static void main(String[] arguments) throws Exception {
        Map<String, Object> programs = new TreeMap<>();
        try (JarFile jar = new JarFile(arguments[0])) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                if (PROGRAMS.matcher(entry.getName()).matches()) {
                    addPrograms(programs, entry.getName().replace('/', '.').replace(".class", ""));
                }
            }
        }
        new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT).writeValue(System.out, programs.values());
    }

    private static void addPrograms(Map<String, Object> programs, String className) throws Exception {
        String simpleName = className.substring(className.lastIndexOf('.') + 1).replaceAll("(Test)?Programs$|SemanticTests?$", "");
        for (Field field : Class.forName(className).getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers()) && field.getType() == TableTestProgram.class) {
                field.setAccessible(true);
                TableTestProgram program = (TableTestProgram) field.get(null);
                programs.put(simpleName + " " + program.id, program(simpleName, program));
            }
        }
    }

    private static Map<String, Object> program(String className, TableTestProgram program) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("class", className);
        result.put("name", program.id);
        result.put("setup", program.setupSteps.stream().map(FlinkPrograms::step).collect(Collectors.toList()));
        result.put("run", program.runSteps.stream().map(FlinkPrograms::step).collect(Collectors.toList()));
        return result;
    }

    private static Map<String, Object> step(TestStep step) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("kind", step.getKind().name());
        if (step instanceof SqlTestStep) {
            result.put("sql", ((SqlTestStep) step).sql);
        } else if (step instanceof FailingSqlTestStep) {
            result.put("sql", ((FailingSqlTestStep) step).sql);
        } else if (step instanceof StatementSetTestStep) {
            result.put("statements", ((StatementSetTestStep) step).statements);
        } else if (step instanceof ConfigOptionTestStep) {
            ConfigOptionTestStep<?> option = (ConfigOptionTestStep<?>) step;
            result.put("key", option.option.key());
            result.put("value", String.valueOf(option.value));
        } else if (step instanceof TableTestStep) {
            addTable(result, (TableTestStep) step);
        }
        return result;
    }

    private static void addTable(Map<String, Object> result, TableTestStep table) {
        List<String> schema = split(String.join(",", table.schemaComponents));
        RowType type = physicalColumns(schema);
        result.put("name", table.name);
        result.put("schema", schema);
        result.put("options", table.options);
        result.put("type", type(type));
        if (table instanceof SourceTestStep) {
            SourceTestStep source = (SourceTestStep) table;
            result.put("before", changes(source.dataBeforeRestore, type));
            result.put("after", changes(source.dataAfterRestore, type));
        } else {
            SinkTestStep sink = (SinkTestStep) table;
            result.put("changes", orNull(sink, SinkTestStep::getExpectedAsStrings));
            result.put("rows", sink.shouldTestChangelogData() ? null : orNull(sink, SinkTestStep::getExpectedMaterializedResultsAsStrings));
        }
    }

    /** Splits the declarations of columns, of which some programs write several in one string. */
    private static List<String> split(String schema) {
        List<String> components = new ArrayList<>();
        int depth = 0;
        int start = 0;
        for (int i = 0; i < schema.length(); i++) {
            char c = schema.charAt(i);
            depth += "<(".indexOf(c) >= 0 ? 1 : ">)".indexOf(c) >= 0 ? -1 : 0;
            if (c == ',' && depth == 0) {
                components.add(schema.substring(start, i).strip());
                start = i + 1;
            }
        }
        components.add(schema.substring(start).strip());
        return components;
    }

    private static List<String> orNull(SinkTestStep sink, Function<SinkTestStep, List<String>> getter) {
        try {
            return getter.apply(sink);
        } catch (IllegalStateException | NullPointerException e) {
            return null;
        }
    }

    /** Returns the columns whose declaration is a name and a type, and nothing else. */
    private static RowType physicalColumns(List<String> components) {
        List<RowType.RowField> fields = new ArrayList<>();
        for (String component : components) {
            Matcher column = COLUMN.matcher(component);
            if (column.matches()) {
                try {
                    LogicalType type = LogicalTypeParser.parse(column.group(2), FlinkPrograms.class.getClassLoader());
                    fields.add(new RowType.RowField(column.group(1), type));
                } catch (ValidationException e) {
                    continue; // a constraint, a watermark, a computed column or a metadata column
                }
            }
        }
        return new RowType(fields);
    }

    private static Map<String, Object> type(LogicalType type) {
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("root", type.getTypeRoot().name());
        result.put("nullable", type.isNullable());
        if (type instanceof DecimalType decimal) result.put("scale", decimal.getScale());
        if (type instanceof RowType) {
            result.put("names", ((RowType) type).getFieldNames());
        }
        result.put("children", type.getChildren().stream().map(FlinkPrograms::type).collect(Collectors.toList()));
        return result;
    }

    private static List<Object> changes(List<Row> rows, RowType type) {
        return rows.stream().map(row -> List.of(row.getKind().shortString(), row(row, type))).collect(Collectors.toList());
    }

    private static Object value(Object value, LogicalType type) {
        if (value == null || value instanceof Number || value instanceof Boolean || value instanceof byte[]) {
            return value;
        } else if (value instanceof Row) {
            return row((Row) value, type);
        } else if (value instanceof Map) {
            Map<String, Object> result = new LinkedHashMap<>();
            ((Map<?, ?>) value).forEach((k, v) -> result.put(String.valueOf(k), value(v, type.getChildren().get(1))));
            return result;
        } else if (value instanceof Collection || value.getClass().isArray()) {
            Object[] items = value instanceof Collection ? ((Collection<?>) value).toArray() : toArray(value);
            List<Object> result = new ArrayList<>();
            for (Object item : items) {
                result.add(value(item, type.getChildren().get(0)));
            }
            return result;
        } else if (value instanceof LocalDateTime) {
            return timestamp((LocalDateTime) value);
        } else if (value instanceof Instant) {
            return timestamp(LocalDateTime.ofInstant((Instant) value, ZoneOffset.UTC)) + "Z";
        } else if (value instanceof LocalTime) {
            return DateTimeFormatter.ISO_LOCAL_TIME.format((LocalTime) value);
        }
        return String.valueOf(value);
    }

    private static String timestamp(LocalDateTime value) {
        return DateTimeFormatter.ISO_LOCAL_DATE_TIME.format(value).replace('T', ' ');
    }

    private static Object[] toArray(Object array) {
        Object[] items = new Object[Array.getLength(array)];
        for (int i = 0; i < items.length; i++) {
            items[i] = Array.get(array, i);
        }
        return items;
    }

    private static Map<String, Object> row(Row row, LogicalType type) {
        Set<String> names = row.getFieldNames(false);
        Map<String, Object> result = new LinkedHashMap<>();
        List<LogicalType> types = type.getChildren();
        for (int i = 0; i < row.getArity(); i++) {
            boolean isDeclared = type instanceof RowType && i < types.size();
            String name = isDeclared ? ((RowType) type).getFieldNames().get(i) : "f" + i; // or the connector's metadata
            Object field = names == null ? row.getField(i) : row.getField(name);
            result.put(name, isDeclared ? value(field, types.get(i)) : String.valueOf(field));
        }
        return result;
    }
}
