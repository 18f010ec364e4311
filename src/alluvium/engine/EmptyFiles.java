package alluvium;

import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.sql.Row;

/**
 * The file that a write without rows leaves in a table's folder. Spark's first task opens a file
 * before it knows of a row, and Delta's commit leaves out a file without rows.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public final class EmptyFiles {

    private EmptyFiles() {}

    /** Of a folder with more names a look costs more than the file does, until the next vacuum. */
    private static final int MOST = 20000;

    /**
     * Delete the one file without rows that was written since. Two may be of two writers: they stay.
     *
     * @param since in milliseconds since 1970
     * @return whether there was one
     */
    public static boolean remove(Configuration conf, Path folder, long since) throws IOException {
        FileSystem store = folder.getFileSystem(conf);
        RemoteIterator files = store.listStatusIterator(folder);
        Path found = null;
        for (int n = 0; files.hasNext(); n++) {
            FileStatus file = (FileStatus) files.next();
            String name = file.getPath().getName();
            boolean wanted = file.getModificationTime() >= since && name.startsWith("part-00000-")
                && name.endsWith(".parquet") && isEmpty(conf, file);
            if (n == MOST || (wanted && found != null)) {
                return false;
            }
            if (wanted) {
                found = file.getPath();
            }
        }
        return found != null && store.delete(found, false);
    }

    private static boolean isEmpty(Configuration conf, FileStatus file) {
        try {
            String location = file.getPath().toUri().toString();
            Object row = new ParquetFooters(conf).call(location, Long.valueOf(file.getLen()));
            return row != null && ((Row) row).getLong(0) == 0;
        } catch (Exception unreadable) {
            return false;
        }
    }
}
