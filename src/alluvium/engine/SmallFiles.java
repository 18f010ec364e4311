package alluvium;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.commons.io.IOUtils;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

/**
 * Small files by one call of the JVM, and without a look of our own whether a file is there.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public final class SmallFiles {

    private final Configuration conf;
    /** Of S3, by path: files as they were listed, until they are read or written. */
    private final Map listed = new HashMap();

    public SmallFiles(Configuration conf) {
        this.conf = conf;
    }

    /** The text of a file; null where it is absent. */
    public String read(String path) throws IOException {
        FileStatus known = (FileStatus) listed.remove(path);
        if (known != null) {
            try {
                return text(opened(known, conf));
            } catch (Exception changed) {
                // Another writer's is there since: the next look is at that one.
            }
        }
        FSDataInputStream stream = opened(path);
        return stream == null ? null : text(stream);
    }

    private static String text(FSDataInputStream stream) throws IOException {
        try {
            return IOUtils.toString(stream, StandardCharsets.UTF_8);
        } finally {
            stream.close();
        }
    }

    /** The first line of a file; null where it is absent or empty. */
    public String firstLine(String path) throws IOException {
        FSDataInputStream stream = opened(path);
        if (stream == null) {
            return null;
        }
        BufferedReader reader = new BufferedReader(new InputStreamReader(stream, StandardCharsets.UTF_8));
        try {
            return reader.readLine();
        } finally {
            reader.close();
        }
    }

    private FSDataInputStream opened(String path) throws IOException {
        Path where = new Path(path);
        FileSystem fs = where.getFileSystem(conf);
        try {
            return fs.open(where);
        } catch (FileNotFoundException absent) {
            // A disk says so of folders too, and of files that nobody may read; or it came just now.
            return "file".equals(fs.getUri().getScheme()) && fs.exists(where) ? fs.open(where) : null;
        }
    }

    /**
     * The names in a folder, each with a NUL behind it; none where it is absent.
     *
     * <p>On S3 a file of them may then be read without a look how long it is.
     */
    public String names(String folder) throws IOException {
        Path where = new Path(folder);
        FileSystem fs = where.getFileSystem(conf);
        StringBuilder names = new StringBuilder();
        try {
            FileStatus[] found = fs.listStatus(where);
            for (int i = 0; i < found.length; i++) {
                if (isStore(fs)) {
                    listed.put(found[i].getPath().toString(), found[i]);
                }
                names.append(found[i].getPath().getName()).append('\0');
            }
        } catch (FileNotFoundException absent) {
            return "";
        }
        return names.toString();
    }

    /** A file's size in bytes, a blank, and its time in milliseconds since 1970; null where it is absent. */
    public String stamp(String path) throws IOException {
        Path where = new Path(path);
        try {
            FileStatus found = where.getFileSystem(conf).getFileStatus(where);
            return found.getLen() + " " + found.getModificationTime();
        } catch (FileNotFoundException absent) {
            return null;
        }
    }

    /** Write a file so that a reader sees the old text or the new one, never a part. */
    public void replace(String path, String text) throws IOException {
        listed.remove(path);
        Path where = new Path(path);
        FileSystem fs = where.getFileSystem(conf);
        if (isStore(fs)) {
            // An object is there whole, or as it was: one request.
            put(fs, where, text.getBytes(StandardCharsets.UTF_8));
            return;
        }
        fs.mkdirs(where.getParent());
        Path draft = new Path(path + ".new");
        OutputStream stream = fs.create(draft, true);
        try {
            stream.write(text.getBytes(StandardCharsets.UTF_8));
        } finally {
            stream.close();
        }
        Path whole = fs.makeQualified(where);
        FileContext.getFileContext(whole.toUri(), conf)
            .rename(fs.makeQualified(draft), whole, new Options.Rename[] {Options.Rename.OVERWRITE});
    }

    /** Whether a file is there whole or not at all, and a name is no folder. */
    static boolean isStore(FileSystem fs) {
        return "s3a".equals(fs.getUri().getScheme());
    }

    /** A file as it was listed, without a look how long it is; S3 refuses to read another one. */
    static FSDataInputStream opened(FileStatus file, Configuration conf) throws Exception {
        Path path = file.getPath();
        return (FSDataInputStream) path.getFileSystem(conf).openFile(path).withFileStatus(file).build().get();
    }

    /** One PUT of a store, in place of whatever is there. */
    static void put(FileSystem fs, Path path, byte[] content) throws IOException {
        FSDataOutputStreamBuilder made = fs.createFile(path);
        made.overwrite(true);
        made.opt("fs.s3a.create.performance", true);
        fill((FSDataOutputStream) made.build(), Collections.singletonList(content)).close();
    }

    /** Write parts in bytes; closing the stream sends them. */
    static FSDataOutputStream fill(FSDataOutputStream stream, List parts) throws IOException {
        boolean whole = false;
        try {
            for (int n = 0; n < parts.size(); n++) {
                stream.write((byte[]) parts.get(n));
            }
            whole = true;
        } finally {
            if (!whole) {
                stream.abort(); // to close it would make half a file
            }
        }
        return stream;
    }
}
