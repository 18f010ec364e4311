package alluvium;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
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
     * @param below whether it lies in a folder of the table's, of a name that Delta draws
     * @param since in milliseconds since 1970
     * @return whether there was one
     */
    public static boolean remove(Configuration conf, Path folder, boolean below, long since) throws IOException {
        FileSystem store = folder.getFileSystem(conf);
        boolean flat = below && SmallFiles.isStore(store); // where folders have no times
        List folders = new ArrayList();
        folders.add(folder);
        Path found = null;
        int seen = 0;
        for (int i = 0; i < folders.size(); i++) {
            Path one = (Path) folders.get(i);
            RemoteIterator files = flat ? store.listFiles(one, true) : store.listStatusIterator(one);
            while (files.hasNext()) {
                FileStatus file = (FileStatus) files.next();
                String name = file.getPath().getName();
                boolean recent = file.getModificationTime() >= since;
                if (below && recent && file.isDirectory() && !name.startsWith("_")) {
                    folders.add(file.getPath());
                }
                boolean wanted = recent && name.startsWith("part-00000-") && name.endsWith(".parquet")
                    && isEmpty(conf, file);
                if (seen++ == MOST || (wanted && found != null)) {
                    return false;
                }
                if (wanted) {
                    found = file.getPath();
                }
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
