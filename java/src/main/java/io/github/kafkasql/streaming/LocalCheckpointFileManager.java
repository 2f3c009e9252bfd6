package io.github.kafkasql.streaming;

import java.io.BufferedOutputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager;

/**
 * Writes the files of a checkpoint on a local disk without starting other processes.
 *
 * <p>Hadoop's local file system runs {@code chmod} and {@code readlink} for each file, if it has no native library. As
 * Spark's own managers, this one writes a temporary file and renames it. Files have the mode that the process gives new
 * files.
 */
public final class LocalCheckpointFileManager extends FileSystemBasedCheckpointFileManager {
    public LocalCheckpointFileManager(Path path, Configuration configuration) {
        super(path, configuration);
    }

    @Override
    @SuppressWarnings("resource") // the caller closes it
    public FSDataOutputStream createTempFile(Path path) {
        try {
            return new FSDataOutputStream(new BufferedOutputStream(new FileOutputStream(file(path))), null);
        } catch (IOException e) {
            throw LocalCheckpointFileManager.<RuntimeException>unchecked(e);
        }
    }

    @Override
    public void renameTempFile(Path source, Path target, boolean overwrite) {
        File file = file(target);
        try {
            if (!overwrite && file.exists()) {
                throw new FileAlreadyExistsException("Failed to rename " + source + " to " + target + " as it exists");
            }
            // of a file that Hadoop wrote: it would not match the new content
            Files.deleteIfExists(new File(file.getParentFile(), "." + file.getName() + ".crc").toPath());
            Files.move(file(source).toPath(), file.toPath(), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw LocalCheckpointFileManager.<RuntimeException>unchecked(e);
        }
    }

    /** Throws an exception that the methods of Scala do not declare, and that their callers expect. */
    @SuppressWarnings("unchecked")
    private static <E extends Exception> E unchecked(IOException e) throws E {
        throw (E) e;
    }

    private static File file(Path path) {
        return new File(path.toUri().getPath());
    }
}
