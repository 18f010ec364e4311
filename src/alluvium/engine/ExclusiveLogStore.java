package alluvium;

import io.delta.storage.HDFSLogStore;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;

/**
 * Commits to a local disk that two processes cannot both make.
 *
 * <p>Delta's own store for local files looks whether the commit exists and then renames, which
 * replaces what another process put there in between. Here the commit is written to a file of its
 * own, and a hard link gives it its name: the system makes the link for one process and refuses it
 * to the others, and readers see the whole commit or none.
 *
 * <p>Written for Janino, the compiler that Spark brings along: no lambdas, no use of type arguments.
 */
public class ExclusiveLogStore extends HDFSLogStore {

    public ExclusiveLogStore(Configuration conf) {
        super(conf);
    }

    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
            throws IOException {
        if (overwrite.booleanValue()) {
            super.write(path, actions, overwrite, conf);
            return;
        }
        // Without Hadoop's checksum files: one that is left over would spoil the next commit.
        RawLocalFileSystem files = (RawLocalFileSystem) FileSystem.getLocal(conf).getRawFileSystem();
        Path temporary = createTempPath(path);
        java.nio.file.Path from = files.pathToFile(temporary).toPath();
        java.nio.file.Path to = files.pathToFile(path).toPath();
        try {
            // Not recursive: a table that was dropped meanwhile must not come back.
            FSDataOutputStream stream =
                (FSDataOutputStream) files.createFile(temporary).overwrite(false).build();
            try {
                while (actions.hasNext()) {
                    String line = (String) actions.next();
                    stream.write((line + "\n").getBytes(StandardCharsets.UTF_8));
                }
                // On the disk before it has a name: a commit that is empty after a power cut would
                // make the table unreadable.
                stream.hsync();
            } finally {
                stream.close();
            }
            publish(from, to);
        } finally {
            try {
                Files.deleteIfExists(from);
            } catch (IOException ignored) {
                // The commit stands or falls with its name; a leftover is in nobody's way.
            }
        }
    }

    private void publish(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
        try {
            link(from, to);
        } catch (UnsupportedOperationException unsupported) {
            renameUnderLock(from, to);
        } catch (IOException failed) {
            if (Files.exists(to, new LinkOption[0])) {
                // NFS may lose its answer to a request that it carried out: then the name is ours.
                if (!Files.isSameFile(from, to)) {
                    throw new FileAlreadyExistsException(to.toString());
                }
            } else if (hasLinks(from)) {
                throw failed;
            } else {
                renameUnderLock(from, to);
            }
        }
    }

    /** Whether the file system makes hard links: the error of one that does not has no type. */
    private boolean hasLinks(java.nio.file.Path file) throws IOException {
        java.nio.file.Path second = file.resolveSibling(file.getFileName() + ".link");
        try {
            link(file, second);
            return true;
        } catch (IOException failed) {
            return false;
        } finally {
            Files.deleteIfExists(second);
        }
    }

    /** Give a file a second name; fails if it is taken. */
    protected void link(java.nio.file.Path from, java.nio.file.Path to) throws IOException {
        Files.createLink(to, from);
    }

    /** For file systems without hard links (FAT): look and rename, one process at a time. */
    private static synchronized void renameUnderLock(
            java.nio.file.Path from, java.nio.file.Path to) throws IOException {
        FileChannel lock = FileChannel.open(
            to.resolveSibling(".commit.lock"),
            new StandardOpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.WRITE});
        try {
            lock.lock();
            if (Files.exists(to, new LinkOption[0])) {
                throw new FileAlreadyExistsException(to.toString());
            }
            Files.move(
                from, to, new StandardCopyOption[] {StandardCopyOption.ATOMIC_MOVE});
        } finally {
            lock.close();
        }
    }
}
