package alluvium;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.GlobFilter;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.spark.sql.Row;

/**
 * Looks at many files without a Spark job, which takes longer than to look at a few hundred of them.
 *
 * <p>Texts have a NUL behind each of their parts: no path has one.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class ManyFiles implements Callable {

    private static final int THREADS = 16;
    private static final JsonFactory JSON = new JsonFactory();

    private final Configuration conf;
    private final String path;
    /** Of a Parquet file in bytes; negative for a file of JSON. */
    private final long size;

    private ManyFiles(Configuration conf, String path, long size) {
        this.conf = conf;
        this.path = path;
        this.size = size;
    }

    /**
     * The files at a path and below that Spark does not hide: path, bytes, milliseconds of the last change.
     *
     * @param isGlob whether the path has wildcards: all that it means
     * @param names a wildcard for the names of files; empty for all
     * @return null where nothing is there
     */
    public static String listed(Configuration conf, String path, boolean isGlob, String names) throws IOException {
        Path given = new Path(path);
        FileSystem fs = given.getFileSystem(conf);
        Path whole = fs.makeQualified(given);
        Set roots = new TreeSet();
        Map files = new LinkedHashMap(); // each once
        FileStatus[] meant = isGlob ? fs.globStatus(given) : null;
        for (int i = 0; meant != null && i < meant.length; i++) {
            Path one = meant[i].getPath();
            if (!isMeant(whole, one)) {
                continue;
            }
            if (meant[i].isDirectory()) {
                roots.add(one);
            } else if (!isHidden(one.getName())) {
                files.put(one, meant[i]);
            }
        }
        if (!isGlob) {
            roots.add(whole);
        }
        PathFilter filter = new GlobFilter(names.length() == 0 ? "*" : names);
        for (Object root : roots) {
            if (SmallFiles.isStore(fs)) {
                listBelow(fs, (Path) root, files);
            } else {
                walk(fs, (Path) root, files);
            }
        }
        StringBuilder found = new StringBuilder();
        for (Object one : files.values()) {
            FileStatus file = (FileStatus) one;
            if (filter.accept(file.getPath())) {
                found.append(file.getPath()).append('\0').append(file.getLen()).append('\0');
                found.append(file.getModificationTime()).append('\0');
            }
        }
        boolean isThere = files.size() > 0 || (isGlob ? meant != null && meant.length > 0 : fs.exists(given));
        return isThere ? found.toString() : null;
    }

    /**
     * Whether a path that a glob matches is hidden at no step that a wildcard stands for.
     *
     * <p>Spark reads what is below `_temporary` by `landing/*`: half a file, and the whole one again when its
     * writer has renamed it.
     */
    private static boolean isMeant(Path glob, Path found) {
        String[] pattern = glob.toUri().getPath().split("/");
        String[] names = found.toUri().getPath().split("/");
        boolean isBelow = false;
        for (int i = 0; i < names.length; i++) {
            // Alternatives may have steps of their own.
            String step = i < pattern.length ? pattern[i] : "*";
            isBelow |= isWild(step);
            boolean isAsked = isBelow && (pattern.length != names.length || isWild(step));
            if (isAsked && isHidden(names[i]) && !isHidden(step)) {
                return false;
            }
        }
        return true;
    }

    private static boolean isWild(String step) {
        for (int i = 0; i < step.length(); i++) {
            if ("*?[{\\".indexOf(step.charAt(i)) >= 0) {
                return true;
            }
        }
        return false;
    }

    /** A store lists what is below a name, by the thousand, whatever folders that seem to be there. */
    private static void listBelow(FileSystem fs, Path root, Map files) throws IOException {
        int start = root.toString().length();
        try {
            for (RemoteIterator all = fs.listFiles(root, true); all.hasNext();) {
                FileStatus file = (FileStatus) all.next();
                String below = file.getPath().toString().substring(start);
                String[] names = (below.length() == 0 ? root.getName() : below).split("/");
                boolean hidden = false;
                for (int i = 0; i < names.length; i++) {
                    hidden |= isHidden(names[i]);
                }
                if (!hidden) {
                    files.put(file.getPath(), file);
                }
            }
        } catch (FileNotFoundException absent) {
            return;
        }
    }

    private static void walk(FileSystem fs, Path root, Map files) throws IOException {
        List folders = new ArrayList();
        folders.add(root);
        while (!folders.isEmpty()) {
            FileStatus[] there = in(fs, (Path) folders.remove(folders.size() - 1));
            for (int i = 0; i < there.length; i++) {
                Path path = there[i].getPath();
                if (isHidden(path.getName())) {
                    continue;
                }
                if (there[i].isDirectory()) {
                    folders.add(path);
                } else {
                    files.put(path, there[i]);
                }
            }
        }
    }

    private static FileStatus[] in(FileSystem fs, Path folder) throws IOException {
        try {
            return fs.listStatus(folder);
        } catch (FileNotFoundException gone) {
            // Perhaps since the one above was listed: the others are there.
            return new FileStatus[0];
        }
    }

    /** As Spark's listing has it. */
    private static boolean isHidden(String name) {
        boolean isValue = name.indexOf('=') >= 0;
        return name.startsWith(".") || name.endsWith("._COPYING_") || (name.startsWith("_") && !isValue);
    }

    /** The rows of Parquet files by their footers, as `rows` of each: nothing of one that does not open. */
    public static String rows(Configuration conf, String filesAndSizes) throws Exception {
        String[] parts = filesAndSizes.split("\0");
        List tasks = new ArrayList();
        for (int i = 0; i + 1 < parts.length; i += 2) {
            tasks.add(new ManyFiles(conf, parts[i], Long.parseLong(parts[i + 1])));
        }
        return all(tasks);
    }

    /** Whether files are JSON, an object a line, to their end: `true`, or nothing, of each. */
    public static String json(Configuration conf, String files) throws Exception {
        String[] parts = files.split("\0");
        List tasks = new ArrayList();
        for (int i = 0; i < parts.length; i++) {
            tasks.add(new ManyFiles(conf, parts[i], -1));
        }
        return all(tasks);
    }

    private static String all(List tasks) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(Math.min(THREADS, Math.max(1, tasks.size())));
        try {
            StringBuilder found = new StringBuilder();
            List futures = threads.invokeAll(tasks);
            for (int i = 0; i < futures.size(); i++) {
                found.append(((Future) futures.get(i)).get()).append('\0');
            }
            return found.toString();
        } finally {
            threads.shutdownNow();
        }
    }

    /** What is found of one file; empty for one that cannot be read, whatever the reason. */
    public Object call() {
        try {
            if (size < 0) {
                return isJson() ? "true" : "";
            }
            Object row = new ParquetFooters(conf).call(path, Long.valueOf(size));
            return row == null ? "" : String.valueOf(((Row) row).getLong(0));
        } catch (Exception unreadable) {
            return "";
        }
    }

    private boolean isJson() throws Exception {
        Path file = new Path(path);
        BufferedReader lines = new BufferedReader(new InputStreamReader(file.getFileSystem(conf).open(file), "UTF-8"));
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!isObject(line)) {
                    return false;
                }
            }
            return true;
        } finally {
            lines.close();
        }
    }

    /** Whether a line is an object, or blank. Other characters than blanks fail, NULs too. */
    private static boolean isObject(String line) throws IOException {
        JsonParser parser = JSON.createParser(line);
        try {
            JsonToken first = parser.nextToken();
            if (first != JsonToken.START_OBJECT) {
                return first == null;
            }
            parser.skipChildren();
            return parser.currentToken() == JsonToken.END_OBJECT && parser.nextToken() == null;
        } finally {
            parser.close();
        }
    }
}
