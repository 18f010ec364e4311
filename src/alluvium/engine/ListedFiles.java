package alluvium;

import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import scala.collection.Iterator;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/** What a listing of Spark knows of its files, in one call: a scan would open each once more. */
public final class ListedFiles {

    private ListedFiles() {}

    /** Of each file with content its path, bytes and time in ms since 1970; behind each a NUL. */
    public static String of(FileIndex index) {
        StringBuilder found = new StringBuilder();
        Seq none = (Seq) Nil$.MODULE$;
        for (Iterator folders = index.listFiles(none, none).iterator(); folders.hasNext();) {
            Iterator files = ((PartitionDirectory) folders.next()).files().iterator();
            while (files.hasNext()) {
                FileStatusWithMetadata file = (FileStatusWithMetadata) files.next();
                found.append(file.getPath()).append('\0').append(file.getLen()).append('\0');
                found.append(file.getModificationTime()).append('\0');
            }
        }
        return found.toString();
    }
}
