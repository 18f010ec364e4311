import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;

/** Hadoop's local file system, with the names of the files that were opened for reading. */
public class CountingFileSystem extends LocalFileSystem {

    public final List opened = Collections.synchronizedList(new ArrayList());

    public FSDataInputStream open(Path path, int bufferSize) throws IOException {
        opened.add(path.getName());
        return super.open(path, bufferSize);
    }
}
