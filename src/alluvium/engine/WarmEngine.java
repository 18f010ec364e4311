package alluvium;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.python.PythonGatewayServer;
import org.apache.spark.api.python.PythonWorkerFactory;
import org.apache.spark.scheduler.Pool;
import org.apache.spark.scheduler.Schedulable;
import org.apache.spark.sql.SparkSession;
import py4j.GatewayServer;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The main class of a JVM that outlives the command that started it.
 *
 * <p>Its client, one at a time, holds a connection to a socket of this machine alone. If that breaks without a goodbye
 * the JVM ends: a statement of a client that was killed may still commit, and nobody may work beside it. Until the
 * first client has such a connection, the JVM's standard input stands for it.
 *
 * <p>A line is asked, and a line is answered. The first word asked is the secret.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class WarmEngine extends InputStream implements Runnable, sun.misc.SignalHandler {

    /** Milliseconds: for a client that connects to say who it is, for what runs once a client goes, to end. */
    private static final int TO_ASK = 5000;

    private static final long TO_FINISH = 30000;
    private static final long TO_END = 15000;
    private static final long TICK = 500;
    /** Of the heap behind a collection, and of commands: beyond these the JVM ends. */
    private static final double OF_HEAP = 0.6;

    private static final int COMMANDS = 200;
    private static final int LONGEST_LINE = 4096;
    /** A thread with one of these on its stack works for the client. */
    private static final String[] WORK = {
        "py4j.commands.",
        "org.apache.spark.executor.Executor$TaskRunner",
        "org.apache.spark.sql.execution.SQLExecution",
        "org.apache.spark.sql.execution.streaming.",
        "org.apache.spark.sql.delta.",
        "io.delta.",
    };

    /** By this Python says, at any time, that it holds an object no more. */
    private static final String FORGETS = "py4j.commands.MemoryCommand";

    /** What Java and libraries set for themselves, once they are asked for it. */
    private static final String[] VOLATILE = {"sun.", "jdk.", "com.sun.", "org.xerial."};

    private static final Object LOCK = new Object();
    private static final CountDownLatch FOREVER = new CountDownLatch(1);

    private static String secret;
    private static Path state;
    private static Object stateKey;
    private static ServerSocket server;
    private static GatewayServer gateway;
    private static SparkSession base;
    private static Map made;
    /** Whether it is a service: it has no time-out, and ends with the one that started it. */
    private static boolean isService;

    // Guarded by LOCK.
    private static WarmEngine client;
    private static boolean wasAttached;
    private static boolean isLeaving;
    private static boolean isStopping;
    private static boolean isEnding;
    private static int commands;
    private static long keep;
    private static long idleSince = System.nanoTime();

    private final InputStream in;
    private final Socket socket;
    private final String job;

    private WarmEngine(String job, InputStream in, Socket socket) {
        this.job = job;
        this.in = in;
        this.socket = socket;
    }

    public static void main(String[] args) throws Exception {
        start("starter", System.in, null);
        // Spark's server ends the JVM where its standard input does: this one has no end.
        System.setIn(new WarmEngine("stdin", null, null));
        PythonGatewayServer.main(args);
    }

    /**
     * Begin to serve, for the first client, once Spark is there.
     *
     * @param home the folder that the file of this JVM lies in
     * @param service whether it is a service
     * @return the port
     */
    public static String open(GatewayServer server, String home, String service) throws IOException {
        gateway = server;
        isService = Boolean.parseBoolean(service);
        state = new File(home, "engine.json").toPath();
        base = (SparkSession) SparkSession.getDefaultSession().get();
        // What Spark sets once it is asked for it.
        base.sharedState().externalCatalog();
        made = settings();
        WarmEngine.server = new ServerSocket(0, 8, InetAddress.getByName("127.0.0.1"));
        start("accept", null, null);
        start("watch", null, null);
        sun.misc.Signal.handle(new sun.misc.Signal("TERM"), new WarmEngine("signal", null, null));
        return String.valueOf(WarmEngine.server.getLocalPort());
    }

    private static void start(String job, InputStream in, Socket socket) {
        Thread thread = new Thread(new WarmEngine(job, in, socket), "alluvium-engine-" + job);
        thread.setDaemon(true);
        thread.start();
    }

    /** Standard input without an end. */
    public int read() throws IOException {
        try {
            FOREVER.await();
        } catch (InterruptedException ended) {
            throw new IOException(ended);
        }
        return -1;
    }

    /** The JVM is asked to end: by SIGTERM. */
    public void handle(sun.misc.Signal signal) {
        stop();
    }

    public void run() {
        try {
            if (job.equals("starter")) {
                starter();
            } else if (job.equals("accept")) {
                while (true) {
                    Socket asking = server.accept();
                    start("client", asking.getInputStream(), asking);
                }
            } else if (job.equals("watch")) {
                watch();
            } else if (job.equals("exit")) {
                System.exit(0);
            } else if (job.equals("halt")) {
                Thread.sleep(TO_END);
                Runtime.getRuntime().halt(1);
            } else {
                talk();
            }
        } catch (Throwable gone) {
            if (job.equals("client")) {
                broken();
            }
        }
    }

    /** Wait for the end of the process that started this JVM, or for its word that it has a connection. */
    private void starter() throws IOException {
        secret = line(in);
        while (in.read() != -1) {
            continue;
        }
        synchronized (LOCK) {
            if (!wasAttached) {
                end("the command that started it went out before it was ready");
            } else if (isService) {
                stop();
            }
        }
    }

    private static void stop() {
        synchronized (LOCK) {
            isStopping = true;
            if (client == null && !isLeaving) {
                end(null);
            }
        }
    }

    private void talk() throws Exception {
        socket.setSoTimeout(TO_ASK);
        String asked = line(in);
        if (asked == null || secret == null) {
            socket.close();
            return;
        }
        String[] words = asked.split(" ");
        if (!MessageDigest.isEqual(words[0].getBytes("UTF-8"), secret.getBytes("UTF-8")) || words.length < 2) {
            socket.close();
            return;
        }
        if (words[1].equals("attach")) {
            attach(Long.parseLong(words[2]));
            return;
        }
        if (words[1].equals("status")) {
            say(status());
        } else if (words[1].equals("stop")) {
            say("yes");
            stop();
        }
        socket.close();
    }

    private void attach(long seconds) throws Exception {
        String no = null;
        synchronized (LOCK) {
            long until = System.currentTimeMillis() + TO_FINISH;
            while (isLeaving && System.currentTimeMillis() < until) {
                LOCK.wait(TICK);
            }
            if (isEnding || isStopping) {
                no = "it is ending";
            } else if (client != null || isLeaving) {
                no = "another command has it";
            } else if (work() != null) {
                no = still(work());
                end(no);
            } else {
                client = this;
                wasAttached = true;
                keep = seconds;
            }
        }
        if (no != null) {
            say("no " + no);
            socket.close();
            return;
        }
        socket.setSoTimeout(0);
        say("yes");
        String said = line(in);
        if (!"bye".equals(said)) {
            broken();
            return;
        }
        leave();
    }

    /** The client's connection broke. */
    private void broken() {
        synchronized (LOCK) {
            if (client == this && !isLeaving) {
                end("the command before this one went out without a goodbye");
            }
        }
    }

    /** The client goes: what it began has to be over, and what it made goes with it. */
    private void leave() throws Exception {
        SparkContext context = base.sparkContext();
        if (context.isStopped()) {
            synchronized (LOCK) {
                end("its Spark context was stopped");
            }
            say("no");
            return;
        }
        context.cancelAllJobs();
        long until = System.currentTimeMillis() + TO_FINISH;
        String work = work();
        while (work != null && System.currentTimeMillis() < until) {
            Thread.sleep(TICK / 10);
            work = work();
        }
        synchronized (LOCK) {
            if (work != null) {
                end(still(work) + " " + TO_FINISH / 1000 + " seconds later");
            }
            if (isEnding) {
                say("no");
                return;
            }
            isLeaving = true;
        }
        String why = null;
        try {
            // Python waits for the connections of these calls as long as they are open.
            gateway.resetCallbackClient(gateway.getCallbackClient().getAddress(), 0);
            say("yes");
            while (in.read() != -1) {
                continue;
            }
        } catch (IOException closed) {
            // as good as an end
        }
        try {
            // A thread of the client may have gone on up to the end of its process.
            work = work();
            clean(context);
            why = work == null ? spoiled() : still(work);
        } catch (Throwable problem) {
            why = "what the command before this one left could not be taken back: " + problem;
        }
        synchronized (LOCK) {
            commands++;
            if (why == null && commands >= COMMANDS) {
                why = "it had run " + commands + " commands";
            }
            client = null;
            isLeaving = false;
            idleSince = System.nanoTime();
            if (why != null) {
                end(why);
            } else if (isStopping) {
                end(null);
            }
            LOCK.notifyAll();
        }
        socket.close();
    }

    private static void clean(SparkContext context) throws Exception {
        Iterator names = gateway.getGateway().getBindings().keySet().iterator();
        while (names.hasNext()) {
            if (((String) names.next()).matches("o[0-9]+")) {
                names.remove();
            }
        }
        base.sharedState().globalTempViewManager().clear();
        base.sharedState().cacheManager().clearCache();
        for (Object kept : CollectionConverters.asJava(context.getPersistentRDDs()).values()) {
            ((org.apache.spark.rdd.RDD) kept).unpersist(true);
        }
        Pool root = context.taskScheduler().rootPool();
        for (Object one : root.schedulableQueue()) {
            Schedulable pool = (Schedulable) one;
            if (!pool.name().equals("default")) {
                root.removeSchedulable(pool);
            }
        }
        SparkSession.setDefaultSession(base.newSession());
        stopPython();
        Object[] children = ProcessHandle.current().descendants().toArray();
        for (int i = 0; i < children.length; i++) {
            ((ProcessHandle) children[i]).destroy();
        }
        long until = System.currentTimeMillis() + TO_ASK;
        for (int i = 0; i < children.length; i++) {
            ProcessHandle child = (ProcessHandle) children[i];
            while (child.isAlive() && System.currentTimeMillis() < until) {
                Thread.sleep(TICK / 10);
            }
            child.destroyForcibly();
        }
        System.gc();
    }

    /** Python's workers have what they imported, and what they were told. Their factories start new ones. */
    private static void stopPython() throws Exception {
        SparkEnv env = SparkEnv.get();
        Field field = SparkEnv.class.getDeclaredField("pythonWorkers");
        field.setAccessible(true);
        synchronized (env) {
            scala.collection.mutable.Map factories = (scala.collection.mutable.Map) field.get(env);
            for (Object factory : CollectionConverters.asJava(factories).values()) {
                ((PythonWorkerFactory) factory).stop();
            }
        }
    }

    /** Why this JVM serves no other command; null if it does. */
    private static String spoiled() {
        if (new File(state.toFile().getParentFile(), "engine.oom").exists()) {
            return "it had run out of memory";
        }
        Map now = settings();
        Set names = new TreeSet(made.keySet());
        names.addAll(now.keySet());
        List changed = new ArrayList();
        for (Object name : names) {
            if (!Objects.equals(made.get(name), now.get(name))) {
                changed.add(name);
            }
        }
        if (!changed.isEmpty()) {
            return "the command before this one changed for all: " + changed;
        }
        String work = work();
        if (work != null) {
            return still(work);
        }
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        if (heap.getUsed() > OF_HEAP * heap.getMax()) {
            return "its heap was full to " + heap.getUsed() * 100 / heap.getMax() + " %";
        }
        return null;
    }

    /** What no client may change, as others would see it too. */
    private static Map settings() {
        SparkContext context = base.sparkContext();
        Map found = new TreeMap();
        for (Object one : context.hadoopConfiguration()) {
            Map.Entry entry = (Map.Entry) one;
            found.put("Hadoop's setting " + entry.getKey(), entry.getValue());
        }
        scala.Tuple2[] set = context.conf().getAll();
        for (int i = 0; i < set.length; i++) {
            found.put("Spark's setting " + set[i]._1(), set[i]._2());
        }
        for (Object one : System.getProperties().stringPropertyNames()) {
            String key = (String) one;
            boolean isVolatile = false;
            for (int i = 0; i < VOLATILE.length; i++) {
                isVolatile = isVolatile || key.startsWith(VOLATILE[i]);
            }
            if (!isVolatile) {
                found.put("Java's property " + key, System.getProperty(key));
            }
        }
        found.put("the jars", context.listJars().toSet());
        found.put("the files", context.listFiles().toSet());
        found.put("the archives", context.listArchives().toSet());
        found.put("the folder of checkpoints", context.checkpointDir());
        found.put("the jars of queries", Integer.valueOf(base.sharedState().jarClassLoader().getURLs().length));
        found.put("the time zone", java.util.TimeZone.getDefault().getID());
        found.put("the locale", java.util.Locale.getDefault());
        return found;
    }

    /** What a thread works at that is none of this class; null for none. */
    private static String work() {
        for (Object stack : Thread.getAllStackTraces().values()) {
            for (StackTraceElement frame : (StackTraceElement[]) stack) {
                String name = frame.getClassName();
                for (String begin : WORK) {
                    if (name.startsWith(begin) && !name.equals(FORGETS)) {
                        return name;
                    }
                }
            }
        }
        return base.sparkContext().statusTracker().getActiveJobIds().length > 0 ? "a job of Spark" : null;
    }

    private static String still(String work) {
        return "something of the command before this one still ran in it (" + work + ")";
    }

    /** End where nobody came for as long as the last client said, or where the home is gone. */
    private static void watch() throws InterruptedException {
        while (true) {
            Thread.sleep(TICK);
            synchronized (LOCK) {
                if (client != null || isLeaving || !wasAttached) {
                    continue;
                }
                if (stateKey == null) {
                    stateKey = key();
                }
                long idle = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - idleSince);
                if (stateKey == null || !stateKey.equals(key()) || (!isService && idle >= keep)) {
                    end(null);
                    return;
                }
            }
        }
    }

    private static Object key() {
        try {
            return Files.readAttributes(state, BasicFileAttributes.class).fileKey();
        } catch (IOException gone) {
            return null;
        }
    }

    private static String status() {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        synchronized (LOCK) {
            long idle = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - idleSince);
            return (client != null && !isLeaving ? "busy" : "idle") + " " + idle + " " + (isService ? 0 : keep) + " " + commands + " "
                    + heap.getUsed() + " " + isStopping;
        }
    }

    /**
     * End this JVM, and leave word in the home.
     *
     * @param why for the next command; null where it need not be told
     */
    private static void end(String why) {
        if (isEnding) {
            return;
        }
        isEnding = true;
        start("halt", null, null);
        try {
            if (why != null && state != null) {
                OutputStream note = new FileOutputStream(new File(state.toFile().getParentFile(), "engine.ended"));
                note.write(why.getBytes("UTF-8"));
                note.close();
            }
            // Another home may have been put in the place of this one.
            if (state != null && (stateKey == null || stateKey.equals(key()))) {
                Files.deleteIfExists(state);
            }
            if (server != null) {
                server.close();
            }
        } catch (IOException unwritten) {
            // The next command finds that it is gone, and says less.
        }
        start("exit", null, null);
    }

    private void say(String answer) throws IOException {
        OutputStream out = socket.getOutputStream();
        out.write((answer + "\n").getBytes("UTF-8"));
        out.flush();
    }

    /** The next line; null where the other side is gone, or says too much. */
    private static String line(InputStream in) throws IOException {
        StringBuilder found = new StringBuilder();
        int next = in.read();
        while (next != -1 && next != '\n' && found.length() < LONGEST_LINE) {
            found.append((char) next);
            next = in.read();
        }
        return next == '\n' ? found.toString() : null;
    }
}
