package alluvium;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Collections;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager$;

/**
 * The logs of streams and Delta's checksum files: on S3 each is one PUT.
 *
 * <p>Spark writes a draft and renames it, so that nobody reads a part. An object of S3 is there
 * whole or not at all, and a rename there is a copy with some twenty requests around it. What must
 * be new is a conditional PUT, as a commit is. Elsewhere Spark's own manager is asked.
 *
 * <p>Written for Janino, as ConditionalLogStore is.
 */
public final class WholeFiles implements CheckpointFileManager {

    private static final String KEY = "spark.sql.streaming.checkpointFileManagerClass";

    private final CheckpointFileManager other;
    private final FileSystem files;

    public WholeFiles(Path path, Configuration conf) throws IOException {
        Configuration without = new Configuration(conf);
        without.unset(KEY);
        other = CheckpointFileManager$.MODULE$.create(path, without);
        files = path.getFileSystem(conf);
    }

    public CheckpointFileManager.CancellableFSDataOutputStream createAtomic(Path path, boolean overwrite) {
        if (!SmallFiles.isStore(files)) {
            return other.createAtomic(path, overwrite);
        }
        return new Whole(new ByteArrayOutputStream(), files, path, overwrite);
    }

    /** Kept in memory until it is closed. */
    private static final class Whole extends CheckpointFileManager.CancellableFSDataOutputStream {

        private final ByteArrayOutputStream bytes;
        private final FileSystem files;
        private final Path path;
        private final boolean overwrite;
        private boolean ended;

        Whole(ByteArrayOutputStream bytes, FileSystem files, Path path, boolean overwrite) {
            super(bytes);
            this.bytes = bytes;
            this.files = files;
            this.path = path;
            this.overwrite = overwrite;
        }

        public void cancel() {
            ended = true;
        }

        public void close() throws IOException {
            if (ended) {
                return;
            }
            ended = true;
            flush();
            if (overwrite) {
                SmallFiles.put(files, path, bytes.toByteArray());
                return;
            }
            try {
                ConditionalLogStore.put(files, path, Collections.singletonList(bytes.toByteArray()));
            } catch (java.nio.file.FileAlreadyExistsException taken) {
                throw new FileAlreadyExistsException(path.toString());
            }
        }
    }

    public FSDataInputStream open(Path path) {
        return other.open(path);
    }

    public FileStatus[] list(Path path, PathFilter filter) {
        return other.list(path, filter);
    }

    public FileStatus[] list(Path path) {
        return other.list(path);
    }

    public void mkdirs(Path path) {
        other.mkdirs(path);
    }

    public boolean exists(Path path) {
        return other.exists(path);
    }

    public void delete(Path path) {
        other.delete(path);
    }

    public boolean isLocal() {
        return other.isLocal();
    }

    public Path createCheckpointDirectory() {
        return other.createCheckpointDirectory();
    }

    public void close() {
        other.close();
    }
}
