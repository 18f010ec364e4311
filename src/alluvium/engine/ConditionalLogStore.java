package alluvium;

import io.delta.storage.CloseableIterator;
import io.delta.storage.LineCloseableIterator;
import io.delta.storage.S3SingleDriverLogStore;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PathFilter;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.s3a.AWSServiceIOException;
import org.apache.hadoop.fs.s3a.Listing;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.apache.hadoop.fs.s3a.S3ListRequest;
import org.apache.hadoop.fs.store.audit.AuditSpan;
import software.amazon.awssdk.core.exception.SdkServiceException;
import software.amazon.awssdk.services.s3.model.ListObjectsV2Request;
import software.amazon.awssdk.utils.builder.SdkBuilder;
import software.amazon.awssdk.utils.builder.ToCopyableBuilder;

/**
 * Commits to S3 that two processes cannot both make.
 *
 * <p>A commit is one conditional PUT ({@code If-None-Match: *}): the store takes it from one writer
 * and refuses it to the others. An answer may be lost on its way, and S3A then sends the request
 * again, which its own object refuses. So each commit carries a random token: after an error the
 * object itself says whose commit it is.
 *
 * <p>Written for Janino, the compiler that Spark brings along: no lambdas, no use of type arguments.
 */
public class ConditionalLogStore extends S3SingleDriverLogStore {

    /** Metadata of an object: the token of who made it. */
    private static final String TOKEN = "alluvium-commit";
    /** How often a commit is sent that met another request for its name (409), and the waits. */
    private static final int ATTEMPTS = 10;
    private static final long FIRST_WAIT_MS = 50;
    private static final long LONGEST_WAIT_MS = 2000;
    /** Hadoop setting: the file that has a line for each bucket that was found to refuse. */
    private static final String REFUSING = "alluvium.s3.refusing";

    private static final int NOBODYS = 0;
    private static final int OURS = 1;
    private static final int ANOTHERS = 2;

    private static final Set known = new HashSet();
    /** Commits as they were last listed, by path: the newest of so many. */
    private static final int LISTED = 1000;
    private static final Map listed = Collections.synchronizedMap(new LinkedHashMap());

    public ConditionalLogStore(Configuration conf) {
        super(conf);
    }

    public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
            throws IOException {
        if (overwrite.booleanValue()) {
            super.write(path, actions, overwrite, conf);
            return;
        }
        FileSystem files = path.getFileSystem(conf);
        probe(files, path.getParent(), conf.get(REFUSING));
        List lines = new ArrayList(); // all of them first: they may be sent again
        while (actions.hasNext()) {
            String line = (String) actions.next();
            lines.add((line + "\n").getBytes(StandardCharsets.UTF_8));
        }
        put(files, path, lines);
    }

    /**
     * Make an object that is not there yet, of parts in bytes.
     *
     * @throws FileAlreadyExistsException another writer's is there
     * @throws IOException nothing was written; or, as its text says, that is unknown
     */
    static void put(FileSystem files, Path path, List parts) throws IOException {
        String token = UUID.randomUUID().toString();
        for (int attempt = 1; ; attempt++) {
            Exception failed = send(files, path, parts, token);
            if (failed == null) {
                return;
            }
            // A cancelled query interrupts its thread: the look is needed all the same.
            boolean interrupted = Thread.interrupted();
            int whose;
            try {
                whose = look(files, path, token, failed);
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
            if (whose == OURS) {
                return;
            }
            if (whose == ANOTHERS) {
                IOException taken = new FileAlreadyExistsException(path.toString());
                taken.addSuppressed(failed);
                throw taken;
            }
            if (!isConflict(failed) || attempt == ATTEMPTS) {
                throw unknown(path, failed, null);
            }
            pause(attempt, path, failed);
        }
    }

    /** One request; gives the error after which nobody knows whether it was carried out. */
    private static Exception send(FileSystem files, Path path, List parts, String token)
            throws IOException {
        FSDataOutputStreamBuilder builder = files.createFile(path);
        builder.must("fs.option.create.conditional.overwrite", true);
        builder.opt("fs.s3a.create.header." + TOKEN, token);
        FSDataOutputStream stream = SmallFiles.fill((FSDataOutputStream) builder.build(), parts);
        try {
            stream.close();
            return null;
        } catch (Exception failed) {
            return failed;
        }
    }

    private static int look(FileSystem files, Path path, String token, Exception failed)
            throws IOException {
        try {
            byte[] there = files.getXAttr(path, "header." + TOKEN);
            return Arrays.equals(there, token.getBytes(StandardCharsets.UTF_8)) ? OURS : ANOTHERS;
        } catch (FileNotFoundException absent) {
            return NOBODYS;
        } catch (Exception blind) {
            throw unknown(path, failed, blind);
        }
    }

    /** Whether another conditional request for the name was under way: S3A does not try again. */
    private static boolean isConflict(Exception failed) {
        return failed instanceof AWSServiceIOException
            && ((AWSServiceIOException) failed).statusCode() == 409;
    }

    private static void pause(int attempt, Path path, Exception failed) throws IOException {
        long wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS << (attempt - 1));
        try {
            Thread.sleep(wait / 2 + ThreadLocalRandom.current().nextLong(wait / 2 + 1));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw unknown(path, failed, interrupted);
        }
    }

    /** Without a cause: what asks for causes would take an absent file for a log that is gone. */
    private static IOException unknown(Path path, Exception failed, Exception blind) {
        String look = blind == null ? "Nothing is there now" : "To look there failed: " + blind;
        IOException error = new IOException(
            "It is unknown whether the commit " + path + " was made: " + failed + ". " + look
                + ". Run again: a new run begins with what is there");
        error.addSuppressed(failed);
        return error;
    }

    /** Find out, once for each bucket and home, whether the store refuses a second PUT. */
    private static synchronized void probe(FileSystem files, Path folder, String noted)
            throws IOException {
        String endpoint = files.getConf().get("fs.s3a.endpoint", "");
        String store = files.getUri() + " " + (endpoint.length() == 0 ? "AWS" : endpoint);
        if (known.contains(store)) {
            return;
        }
        if (!files.getConf().getBoolean("fs.s3a.create.conditional.enabled", true)) {
            throw unsafe(store, "fs.s3a.create.conditional.enabled is false");
        }
        java.nio.file.Path notes = noted == null ? null : Paths.get(noted, new String[0]);
        if (notes == null || !Files.exists(notes, new java.nio.file.LinkOption[0])
                || !Files.readAllLines(notes).contains(store)) {
            Path object = new Path(folder, ".probe-" + UUID.randomUUID());
            put(files, object, Collections.singletonList(new byte[] {1}));
            boolean refused;
            try {
                refused = isRefused(files, object);
            } finally {
                files.delete(object, false);
            }
            if (!refused) {
                throw unsafe(store, "it takes a second PUT with If-None-Match");
            }
            if (notes != null) {
                Files.write(
                    notes,
                    (store + "\n").getBytes(StandardCharsets.UTF_8),
                    new StandardOpenOption[] {StandardOpenOption.CREATE, StandardOpenOption.APPEND});
            }
        }
        known.add(store);
    }

    private static IOException unsafe(String store, String why) {
        return new IOException(
            store + ": two writers would lose each other's commits, for " + why + ". Accepted: a"
                + " store that refuses the second one; spark.delta.logStore.s3a.impl:"
                + " io.delta.storage.S3DynamoDBLogStore in `spark_conf`; or, where nobody else"
                + " writes, `single_writer: true` in the profile");
    }

    private static boolean isRefused(FileSystem files, Path object) throws IOException {
        Throwable why;
        try {
            put(files, object, Collections.singletonList(new byte[] {2}));
            return false;
        } catch (FileAlreadyExistsException refused) {
            why = refused.getSuppressed()[0];
        }
        // A store that only had no time for the second one would seem to refuse it.
        for (Throwable one = why; one != null; one = one.getCause()) {
            if (one instanceof SdkServiceException
                    && ((SdkServiceException) one).statusCode() == 412) {
                return true;
            }
        }
        throw new IOException(
            "It is unknown whether " + object + " keeps writers apart: " + why + ". Run again");
    }

    /** A commit that was listed is opened without a look how long it is; S3 says if it is another. */
    public CloseableIterator<String> read(Path path, Configuration conf) throws IOException {
        FileStatus there = (FileStatus) listed.get(path.toString());
        if (there != null) {
            try {
                BufferedReader reader = new BufferedReader(
                    new InputStreamReader(SmallFiles.opened(there, conf), StandardCharsets.UTF_8));
                reader.mark(1);
                reader.read(); // the request is made here
                reader.reset();
                return new LineCloseableIterator(reader);
            } catch (Exception changed) {
                listed.remove(path.toString());
            }
        }
        return super.read(path, conf);
    }

    private static void note(FileStatus file) {
        listed.put(file.getPath().toString(), file);
        synchronized (listed) {
            for (Iterator oldest = listed.keySet().iterator(); listed.size() > LISTED;) {
                oldest.next();
                oldest.remove();
            }
        }
    }

    /** From the name on: S3 begins its list there, and does not give what is before it. */
    public Iterator<FileStatus> listFrom(Path path, Configuration conf) throws IOException {
        FileSystem files = path.getFileSystem(conf);
        if (!(files instanceof S3AFileSystem)) {
            return super.listFrom(path, conf);
        }
        S3AFileSystem s3 = (S3AFileSystem) files;
        Path folder = s3.makeQualified(path.getParent());
        final String name = path.getName();
        List found = new ArrayList();
        AuditSpan span = s3.createSpan("op_list_status", folder.toString(), null);
        try {
            Listing listing = s3.getListing();
            String key = s3.pathToKey(folder) + "/";
            S3ListRequest request = listing.createListObjectsRequest(key, "/", span);
            if (request.isV1()) {
                return super.listFrom(path, conf);
            }
            // By interfaces that have these methods once: between a class's own and those that it
            // inherits, of other types, Janino may find no choice.
            ListObjectsV2Request.Builder from = (ListObjectsV2Request.Builder)
                ((ToCopyableBuilder) request.getV2()).toBuilder();
            from.startAfter(key + before(name));
            request = S3ListRequest.v2((ListObjectsV2Request) ((SdkBuilder) from).build());
            RemoteIterator all = listing.createFileStatusListingIterator(
                folder,
                request,
                new PathFilter() {
                    public boolean accept(Path one) {
                        return one.getName().compareTo(name) >= 0;
                    }
                },
                new Listing.AcceptAllButSelfAndS3nDirs(folder),
                span);
            while (all.hasNext()) {
                FileStatus file = (FileStatus) all.next();
                found.add(file);
                if (file.getPath().getName().endsWith(".json")) {
                    note(file);
                }
            }
        } finally {
            span.deactivate();
        }
        if (found.isEmpty() && !s3.exists(folder)) {
            throw new FileNotFoundException("No such file or directory: " + folder);
        }
        Collections.sort(found, new Comparator() {
            public int compare(Object one, Object other) {
                return ((FileStatus) one).getPath().getName()
                    .compareTo(((FileStatus) other).getPath().getName());
            }
        });
        return found.iterator();
    }

    /** A name that comes before a name, and behind nearly all others that do. */
    private static String before(String name) {
        int last = name.length() - 1;
        return name.substring(0, last) + (char) (name.charAt(last) - 1);
    }
}
