package alluvium;

import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.apache.commons.io.IOUtils;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;

/**
 * Small files by as few requests as there may be: a store is not asked first whether a file is there.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public final class SmallFiles {

    private final Configuration conf;

    public SmallFiles(Configuration conf) {
        this.conf = conf;
    }

    /** The text of a file; null where it is absent. */
    public String read(String path) throws IOException {
        FSDataInputStream stream = opened(path);
        if (stream == null) {
            return null;
        }
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
            // A disk says so of folders too, and of files that nobody may read.
            if ("file".equals(fs.getScheme()) && fs.exists(where)) {
                throw absent;
            }
            return null;
        }
    }

    /** The names in a folder, each with a NUL behind it; none where it is absent. */
    public String names(String folder) throws IOException {
        Path where = new Path(folder);
        FileSystem fs = where.getFileSystem(conf);
        StringBuilder names = new StringBuilder();
        try {
            FileStatus[] found = fs.listStatus(where);
            for (int i = 0; i < found.length; i++) {
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
        Path where = new Path(path);
        FileSystem fs = where.getFileSystem(conf);
        if ("s3a".equals(fs.getScheme())) {
            // An object is there whole, or as it was: one request.
            FSDataOutputStreamBuilder made = fs.createFile(where);
            made.overwrite(true);
            made.opt("fs.s3a.create.performance", true);
            write((OutputStream) made.build(), text);
            return;
        }
        fs.mkdirs(where.getParent());
        Path draft = new Path(path + ".new");
        write(fs.create(draft, true), text);
        Path whole = fs.makeQualified(where);
        FileContext.getFileContext(whole.toUri(), conf)
            .rename(fs.makeQualified(draft), whole, new Options.Rename[] {Options.Rename.OVERWRITE});
    }

    private static void write(OutputStream stream, String text) throws IOException {
        try {
            stream.write(text.getBytes(StandardCharsets.UTF_8));
        } finally {
            stream.close();
        }
    }
}
