package io.github.kafkasql.formats.protobuf;

import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.OneofDescriptor;
import com.google.protobuf.InvalidProtocolBufferException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** A message, and its fields that are columns or must be seen: required ones, and those in the oneof of a column. */
final class ProtobufMessage {
    final Descriptor descriptor;
    final ProtobufField[] fields; // by number
    final ProtobufField[] byColumn; // null for a column without a field
    final NotNull[] notNull;
    final boolean hasRequired;
    final int oneofCount;

    /** A column that is declared NOT NULL. position: see Columns. */
    record NotNull(int column, String path, int position) {}

    /** Numbers the columns, and those inside them, to report the first error of a record. */
    static final class Columns {
        final boolean readsDefaults; // whether an absent field is its default, not null
        int count;

        Columns(boolean readsDefaults) {
            this.readsDefaults = readsDefaults;
        }
    }

    /**
     * Maps the columns of a table or ROW, or the values inside a Timestamp, a wrapper or an entry of a MAP.
     *
     * @param paths of these values; null for the columns of a table or ROW
     * @param parent the path of the ROW, with a dot; empty for the table
     */
    ProtobufMessage(Descriptor descriptor, StructType types, String[] paths, String parent, Columns columns) {
        this.descriptor = descriptor;
        this.byColumn = new ProtobufField[types.size()];
        List<NotNull> notNull = new ArrayList<>();
        Map<FieldDescriptor, ProtobufField> mapped = new HashMap<>();
        Set<OneofDescriptor> oneofs = new HashSet<>();
        for (int i = 0; i < byColumn.length; i++) {
            StructField type = types.fields()[i];
            String path = paths == null ? parent + type.name() : paths[i];
            if (paths == null) columns.count++;
            if (paths == null && !type.nullable()) notNull.add(new NotNull(i, path, columns.count));
            FieldDescriptor field = descriptor.findFieldByName(type.name());
            if (field == null) continue; // of an older or newer version of the message
            byColumn[i] = new ProtobufField(field, i, path, type.dataType(), columns);
            mapped.put(field, byColumn[i]);
            if (byColumn[i].oneof >= 0) oneofs.add(field.getContainingOneof());
        }
        this.notNull = notNull.toArray(NotNull[]::new);
        this.fields = descriptor.getFields().stream()
            .filter(f -> mapped.containsKey(f) || f.isRequired() || oneofs.contains(f.getContainingOneof()))
            .map(f -> mapped.containsKey(f) ? mapped.get(f) : new ProtobufField(f))
            .sorted(Comparator.comparingInt(field -> field.descriptor.getNumber())).toArray(ProtobufField[]::new);
        for (int i = 0; i < fields.length; i++) fields[i].index = i;
        this.oneofCount = oneofs.isEmpty() ? 0 : descriptor.getOneofs().size();
        this.hasRequired = Stream.of(fields).anyMatch(field -> field.descriptor.isRequired());
    }

    /** Returns the field with a number, or null. next: the index to try first, because most fields are in order. */
    ProtobufField find(int number, int next) {
        if (next < fields.length && fields[next].number == number) return fields[next];
        int low = 0;
        int high = fields.length - 1;
        while (low <= high) {
            int middle = (low + high) >>> 1;
            ProtobufField found = fields[middle];
            if (found.number == number) return found;
            if (found.number < number) low = middle + 1;
            else high = middle - 1;
        }
        return null;
    }

    /** Loads a message from a serialized FileDescriptorSet, in which each file follows those that it imports. */
    static Descriptor load(byte[] files, String name) {
        Map<String, FileDescriptor> loaded = new HashMap<>();
        FileDescriptor last = null;
        try {
            for (FileDescriptorProto file : FileDescriptorSet.parseFrom(files).getFileList()) {
                Stream<FileDescriptor> imports = file.getDependencyList().stream().map(loaded::get);
                last = FileDescriptor.buildFrom(file, imports.toArray(FileDescriptor[]::new));
                loaded.put(file.getName(), last);
            }
        } catch (InvalidProtocolBufferException | DescriptorValidationException e) {
            throw new IllegalStateException(e);
        }
        if (last == null) throw new IllegalStateException("there is no file");
        String prefix = last.getPackage().isEmpty() ? "" : last.getPackage() + ".";
        Descriptor message = null;
        for (String part : name.substring(prefix.length()).split("\\.")) {
            message = message == null ? last.findMessageTypeByName(part) : message.findNestedTypeByName(part);
        }
        return message;
    }
}
