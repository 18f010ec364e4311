import io.delta.storage.LogStore;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager;

/**
 * A process that asks a log store, without Spark. A line of its standard input is an order, and
 * each order ends with the line "done":
 *
 * <ul>
 * <li>race FOLDER NAME N: make N commits, each under the next number that is free, as Delta does.
 *     It says "made NUMBER", "lost NUMBER" or "failed NUMBER ERROR"
 * <li>write FOLDER NUMBER LINES LENGTH: a commit of so many lines
 * <li>half FOLDER NUMBER: a commit whose actions end in an error
 * <li>list FOLDER NUMBER: what is there from a number on
 * <li>read FOLDER NUMBER: the lines of a commit
 * <li>below PATH: the files at a path and below, as `ManyFiles` lists them
 * <li>new PATH TEXT, replace PATH TEXT, cancel PATH TEXT: a file as Spark's streams write theirs
 * </ul>
 *
 * <p>Its arguments are the store's class and settings of Hadoop, each with its value. Written for
 * Janino.
 */
public class S3Racer {

    public static void main(String[] args) throws Exception {
        Configuration conf = new Configuration();
        for (int n = 1; n + 1 < args.length; n += 2) {
            conf.set(args[n], args[n + 1]);
        }
        LogStore store = (LogStore) Class.forName(args[0])
            .getConstructor(new Class[] {Configuration.class}).newInstance(new Object[] {conf});
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("done");
        String order;
        while ((order = orders.readLine()) != null) {
            String[] words = order.split(" ");
            if (words[0].equals("race")) {
                race(store, conf, words[1], words[2], Integer.parseInt(words[3]));
            } else if (words[0].equals("list")) {
                list(store, conf, words[1], Integer.parseInt(words[2]));
            } else if (words[0].equals("read")) {
                Iterator lines = store.read(commit(words[1], Integer.parseInt(words[2])), conf);
                while (lines.hasNext()) {
                    System.out.println(lines.next());
                }
            } else if (words[0].equals("write") || words[0].equals("half")) {
                write(store, conf, words);
            } else if (words[0].equals("below")) {
                String found = alluvium.ManyFiles.listed(conf, words[1], false, "");
                System.out.println(found == null ? "absent" : found.replaceAll("\0[0-9]+\0[0-9]+\0", "\n").trim());
            } else {
                file(conf, words);
            }
            System.out.println("done");
        }
    }

    private static Path commit(String folder, int number) {
        return new Path(folder, String.format("%020d.json", new Object[] {new Integer(number)}));
    }

    private static void race(
            LogStore store, Configuration conf, String folder, String name, int wanted) {
        int made = 0;
        for (int number = 0; made < wanted; number++) {
            List lines = new ArrayList();
            lines.add(name + " " + made);
            String told = tried(store, conf, commit(folder, number), lines.iterator());
            made += told.equals("made") ? 1 : 0;
            System.out.println(told.replaceFirst(" |$", " " + number + " "));
            if (told.startsWith("failed")) {
                return;
            }
        }
    }

    private static void write(LogStore store, Configuration conf, String[] words) {
        List lines = new ArrayList();
        if (words[0].equals("half")) {
            lines.add("half a commit");
            lines.add(new Integer(0)); // no text: the store stops there
        } else {
            StringBuilder line = new StringBuilder();
            while (line.length() < Integer.parseInt(words[4])) {
                line.append("x");
            }
            for (int n = 0; n < Integer.parseInt(words[3]); n++) {
                lines.add(line.toString());
            }
        }
        Path path = commit(words[1], Integer.parseInt(words[2]));
        System.out.println(tried(store, conf, path, lines.iterator()));
    }

    private static void file(Configuration conf, String[] words) {
        Path path = new Path(words[1]);
        try {
            CheckpointFileManager files = new alluvium.WholeFiles(path.getParent(), conf);
            CheckpointFileManager.CancellableFSDataOutputStream stream =
                files.createAtomic(path, words[0].equals("replace"));
            stream.write(words[2].getBytes());
            if (words[0].equals("cancel")) {
                stream.cancel();
            }
            stream.close();
            System.out.println("made");
        } catch (org.apache.hadoop.fs.FileAlreadyExistsException taken) {
            System.out.println("lost");
        } catch (Exception error) {
            System.out.println("failed " + error.toString().replace('\n', ' '));
        }
    }

    private static String tried(LogStore store, Configuration conf, Path path, Iterator lines) {
        try {
            store.write(path, lines, Boolean.FALSE, conf);
            return "made";
        } catch (FileAlreadyExistsException taken) {
            return "lost";
        } catch (Exception error) {
            return "failed " + error.toString().replace('\n', ' ');
        }
    }

    private static void list(LogStore store, Configuration conf, String folder, int number) {
        try {
            Iterator found = store.listFrom(commit(folder, number), conf);
            while (found.hasNext()) {
                FileStatus one = (FileStatus) found.next();
                System.out.println(one.getPath().getName() + " " + one.getLen());
            }
        } catch (IOException error) {
            System.out.println("failed " + error);
        }
    }
}
