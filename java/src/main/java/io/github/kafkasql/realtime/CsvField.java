package io.github.kafkasql.realtime;

import java.io.Serializable;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.*;
import org.apache.spark.unsafe.types.UTF8String;

/** Converts a value of a CSV line to a column's value in Spark's internal form (CsvToRowDataConverters). */
final class CsvField implements Serializable {
    private static final Pattern DATE =
        Pattern.compile(
            "(\\+?\\d+|-0+)-([+-]?\\d{1,2}|[+-]\\d)-([+-]?\\d{1,2}|[+-]\\d)", Pattern.UNICODE_CHARACTER_CLASS);

    private final String name;
    private final DataType type;
    private final boolean isNullable;
    private final CsvRules rules;
    private final CsvField[] children;

    CsvField(String name, DataType type, boolean isNullable, CsvRules rules) {
        this.name = name;
        this.type = type;
        this.isNullable = isNullable;
        this.rules = rules;
        if (type instanceof StructType) {
            children = fields((StructType) type, rules);
        } else if (type instanceof ArrayType) {
            ArrayType array = (ArrayType) type;
            children = new CsvField[] {new CsvField("", array.elementType(), array.containsNull(), rules)};
        } else {
            children = null;
        }
    }

    static CsvField[] fields(StructType type, CsvRules rules) {
        StructField[] columns = type.fields();
        CsvField[] fields = new CsvField[columns.length];
        for (int i = 0; i < columns.length; i++) {
            fields[i] = new CsvField(columns[i].name(), columns[i].dataType(), columns[i].nullable(), rules);
        }
        return fields;
    }

    /** Converts values; the fields after the last value are null. */
    static GenericInternalRow convertRow(List values, CsvField[] fields) {
        Object[] row = new Object[fields.length];
        for (int i = 0; i < fields.length; i++) {
            try {
                row[i] = fields[i].convertNullable(i < values.size() ? (String) values.get(i) : null);
            } catch (Mismatch e) {
                throw e.withPrefix(fields[i].name);
            }
        }
        return new GenericInternalRow(row);
    }

    private Object convertNullable(String text) {
        Object result = null;
        if (text != null && (children != null || !rules.isNull(text))) {
            try {
                result = convert(text);
            } catch (NumberFormatException e) {
                if (!rules.has(CsvRules.IGNORE_ERRORS)) {
                    String found = PayloadDecoder.shorten("'" + text + "'");
                    throw new Mismatch("found " + found + ", " + e.getMessage(), "", false);
                }
            } catch (Mismatch e) {
                if (e.isMissing || !rules.has(CsvRules.IGNORE_ERRORS)) throw e;
            }
        }
        if (result == null && !isNullable) {
            throw new Mismatch("is null or missing, but declared NOT NULL", "", true);
        }
        return result;
    }

    private Object convert(String text) {
        if (type instanceof StructType) return convertStruct(text);
        if (type instanceof ArrayType) return convertArray(text);
        if (type instanceof StringType) return UTF8String.fromString(text);
        if (type instanceof BooleanType) return Boolean.valueOf(Scalars.isTrue(text));
        if (type instanceof ByteType) return Byte.valueOf((byte) Scalars.toLong(text, 8, "TINYINT"));
        if (type instanceof ShortType) return Short.valueOf((short) Scalars.toLong(text, 16, "SMALLINT"));
        if (type instanceof IntegerType) return Integer.valueOf((int) Scalars.toLong(text, 32, "INT"));
        if (type instanceof LongType) return Long.valueOf(Scalars.toLong(text, 64, "BIGINT"));
        if (type instanceof DoubleType) return Double.valueOf(Scalars.toDouble(text));
        if (type instanceof FloatType) return Float.valueOf(Scalars.toFloat(text));
        if (type instanceof DecimalType) {
            return Scalars.toDecimal(text.equals(text.trim()) ? text : "", (DecimalType) type);
        }
        if (type instanceof DateType) return Integer.valueOf(parseDate(text));
        if (type instanceof TimeType) return Long.valueOf(Times.parseLocalTime(text));
        if (type instanceof BinaryType) return Scalars.toBytes(text.trim());
        if (type instanceof TimestampType) return Long.valueOf(Times.parseTimestamp(text.trim(), "SQL", true));
        if (type instanceof TimestampNTZType) return Long.valueOf(Times.parseTimestamp(text.trim(), "SQL", false));
        throw new IllegalStateException("unsupported type " + type);
    }

    private List splitElements(String text) {
        List parts = new ArrayList();
        if (text.indexOf(rules.elementSeparator) < 0 && text.trim().isEmpty()) return parts;
        int start = 0;
        for (int end = 0; end >= 0; start = end + 1) {
            end = text.indexOf(rules.elementSeparator, start);
            String part = end < 0 ? text.substring(start) : text.substring(start, end);
            parts.add(rules.has(CsvRules.TRIM_SPACES) ? part.trim() : part);
            if (end < 0) break;
        }
        return parts;
    }

    private Object convertArray(String text) {
        List elements = splitElements(text);
        Object[] result = new Object[elements.size()];
        for (int i = 0; i < result.length; i++) {
            try {
                result[i] = children[0].convertNullable((String) elements.get(i));
            } catch (Mismatch e) {
                throw e.withPrefix("[" + i + "]");
            }
        }
        return new GenericArrayData(result);
    }

    private Object convertStruct(String text) {
        List values = splitElements(text);
        if (values.isEmpty()) return null;
        if (values.size() < children.length && !rules.has(CsvRules.IGNORE_ERRORS)) {
            throw new Mismatch(lengthMismatch(children.length, values.size()), "", false);
        }
        return convertRow(values, children);
    }

    static String lengthMismatch(int expected, int found) {
        return "row length mismatch. " + expected + " fields expected but was " + found + ".";
    }

    /** Parses as java.sql.Date.valueOf does: leniently, and before 1582-10-15 in the Julian calendar. */
    private static int parseDate(String text) {
        Matcher match = DATE.matcher(text);
        if (text.length() <= 10 && match.matches() && match.group(1).length() == 4) {
            int year = Integer.parseInt(match.group(1));
            int month = Integer.parseInt(match.group(2));
            int day = Integer.parseInt(match.group(3));
            if (month >= 1 && month <= 12 && day >= 1 && day <= 31) {
                if (year == 0) year = 1; // 1 BC, whose number java.sql.Date returns without the era
                try {
                    return (int) toGregorian(year, month, day).toEpochDay();
                } catch (DateTimeException e) {
                    // 29 February of a year that is a leap year only in the Julian calendar
                }
            }
        }
        throw new NumberFormatException("expected a date such as '2020-12-30'");
    }

    private static LocalDate toGregorian(int year, int month, int day) {
        boolean isJulian = year * 10000 + month * 100 + day <= 15821004;
        boolean isLeap = year % 4 == 0 && (isJulian || year % 100 != 0 || year % 400 == 0);
        boolean isShort = month == 4 || month == 6 || month == 9 || month == 11;
        int length = month == 2 ? (isLeap ? 29 : 28) : isShort ? 30 : 31;
        if (day > length) {
            month++;
            day -= length;
        }
        int date = year * 10000 + month * 100 + day;
        if (date >= 15821005 && date <= 15821014) day += 10;
        return LocalDate.of(year, month, day);
    }
}
