package alluvium;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.delta.DeltaParquetFileFormat;
import org.apache.spark.sql.delta.DeltaTableUtils;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.stats.DataSize;
import org.apache.spark.sql.delta.stats.DeltaScan;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Function1;
import scala.Option;
import scala.PartialFunction;
import scala.collection.mutable.ListBuffer;
import scala.runtime.AbstractFunction1;
import scala.runtime.AbstractPartialFunction;
import scala.runtime.BoxedUnit;

/**
 * Lets plain queries skip the files of Delta tables whose tags say that no row of theirs can match.
 * An extension of Spark's sessions; name it after Delta's in `spark.sql.extensions`.
 *
 * <p>Written for Janino, the compiler that Spark brings along: no lambdas, no use of type arguments.
 */
public final class PrunedReads extends AbstractFunction1 {

    /** The session's setting that turns this off, where it is `false`. */
    public static final String SETTING = "spark.alluvium.pruning.enabled";
    /** The planning of a query or a merge takes no longer than this for tags. */
    private static final long MOST_NANOSECONDS = 1000000000L;
    /** The tag of a data file that says which values its columns may hold. */
    public static final String TAG = "alluvium.automata";

    private static final Logger LOG = LoggerFactory.getLogger("alluvium.PrunedReads");

    public Object apply(Object extensions) {
        // Behind Delta's own rule, which picks the files by their statistics: where files are not
        // picked yet there is nothing to prune.
        ((SparkSessionExtensions) extensions).injectPreCBORule(new AbstractFunction1() {
            public Object apply(Object session) {
                return new Pruning((SparkSession) session);
            }
        });
        return BoxedUnit.UNIT;
    }

    /**
     * A table's files as Delta picked them, less those that tags rule out.
     *
     * <p>Of its own kind, because Delta picks anew where a table has deletion vectors, and forgets
     * what it had prepared.
     */
    public static final class PrunedFileIndex extends PreparedDeltaFileIndex {
        /** As Delta picked them. */
        public final PreparedDeltaFileIndex picked;
        private final Set skipped;

        PrunedFileIndex(PreparedDeltaFileIndex picked, DeltaScan kept, Set skipped) {
            super(picked.spark(), picked.deltaLog(), picked.path(), picked.catalogTableOpt(), kept,
                picked.versionScanned());
            this.picked = picked;
            this.skipped = skipped;
        }

        public scala.collection.immutable.Seq matchingFiles(
                scala.collection.immutable.Seq partitionFilters,
                scala.collection.immutable.Seq dataFilters) {
            scala.collection.immutable.Seq found = super.matchingFiles(partitionFilters, dataFilters);
            return without(found, skipped);
        }

        public boolean equals(Object other) {
            return other instanceof PrunedFileIndex && super.equals(other)
                && ((PrunedFileIndex) other).skipped.equals(skipped);
        }

        public int hashCode() {
            return 31 * super.hashCode() + skipped.hashCode();
        }
    }

    /** The rule of one session. */
    public static final class Pruning extends Rule {
        private final SparkSession session;

        Pruning(SparkSession session) {
            this.session = session;
        }

        public TreeNode apply(TreeNode plan) {
            try {
                return isOn(session) ? pruned((LogicalPlan) plan) : plan;
            } catch (Exception problem) {
                return unchanged(plan, problem);
            } catch (LinkageError problem) {
                // Another release of Delta than the one that this was compiled beside.
                return unchanged(plan, problem);
            } catch (StackOverflowError problem) {
                return unchanged(plan, problem);
            }
        }

        private static TreeNode unchanged(TreeNode plan, Throwable problem) {
            LOG.warn("A query reads all files that Delta picked: tags could not be used", problem);
            return plan;
        }
    }

    static boolean isOn(SparkSession session) {
        String on = session.sessionState().conf().getConfString(SETTING, "true");
        return !on.trim().equalsIgnoreCase("false");
    }

    private static LogicalPlan pruned(LogicalPlan plan) {
        final PartialFunction prune = new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return node instanceof Filter;
            }

            public Object applyOrElse(Object node, Function1 otherwise) {
                return isDefinedAt(node) ? filtered((Filter) node) : otherwise.apply(node);
            }
        };
        // Plans of subqueries stand in expressions; they were left alone when they were optimized.
        return (LogicalPlan) plan.transformDownWithSubqueries(prune);
    }

    private static LogicalPlan filtered(Filter top) {
        Read read = Read.of(top, false);
        if (read == null || read.location.getClass() != PreparedDeltaFileIndex.class) {
            return top;
        }
        Set skipped = read.skipped(read.condition);
        return skipped.isEmpty() ? top : DeltaTableUtils.replaceFileIndex(top, read.without(skipped));
    }

    static scala.collection.immutable.Seq without(
            scala.collection.immutable.Seq files, Set skipped) {
        ListBuffer kept = new ListBuffer();
        scala.collection.Iterator each = files.iterator();
        while (each.hasNext()) {
            AddFile file = (AddFile) each.next();
            if (!skipped.contains(file.path())) {
                kept.addOne(file);
            }
        }
        return kept.toList();
    }

    /**
     * Paths of the files that have no row for which a condition is true.
     *
     * @param nanoseconds what is not decided by then is read: long lists of values may take longer
     */
    static Set skipped(scala.collection.immutable.Seq files, Condition condition,
            long nanoseconds) {
        Set found = new HashSet();
        if (!condition.isKnown()) {
            return found;
        }
        scala.collection.Iterator each = files.iterator();
        // Files of a sorted table share their values, and so their tags.
        Map decided = new HashMap();
        long started = System.nanoTime();
        long most = Math.min(nanoseconds, MOST_NANOSECONDS);
        while (each.hasNext() && System.nanoTime() - started < most) {
            AddFile file = (AddFile) each.next();
            String tag = tag(file);
            if (tag == null) {
                continue;
            }
            Boolean mayHold = (Boolean) decided.get(tag);
            if (mayHold == null) {
                mayHold = Boolean.valueOf(condition.mayHold(new Condition.File(tag)));
                decided.put(tag, mayHold);
            }
            if (!mayHold.booleanValue()) {
                found.add(file.path());
            }
        }
        return found;
    }

    /** Filters directly above a Delta table. */
    private static final class Read {
        LogicalRelation relation;
        PreparedDeltaFileIndex location;
        PreparedDeltaFileIndex picked;
        Condition condition;

        /**
         * Of one filter or several on one another; null where they are above something else.
         *
         * @param named whether each condition is called what it is in the query
         */
        static Read of(Filter top, boolean named) {
            Read found = new Read();
            LogicalPlan below = top;
            while (below instanceof Filter) {
                if (!((Filter) below).condition().deterministic()) {
                    return null;
                }
                below = ((Filter) below).child();
            }
            if (!(below instanceof LogicalRelation)) {
                return null;
            }
            found.relation = (LogicalRelation) below;
            if (!(found.relation.relation() instanceof HadoopFsRelation)) {
                return null;
            }
            HadoopFsRelation files = (HadoopFsRelation) found.relation.relation();
            if (!(files.location() instanceof PreparedDeltaFileIndex)
                    || !(files.fileFormat() instanceof DeltaParquetFileFormat)) {
                return null;
            }
            found.location = (PreparedDeltaFileIndex) files.location();
            found.picked = found.location instanceof PrunedFileIndex
                ? ((PrunedFileIndex) found.location).picked : found.location;
            Columns columns = new Columns(found.relation,
                ((DeltaParquetFileFormat) files.fileFormat()).metadata().schema(),
                found.location.preparedScan().scannedSnapshot().metadata().schema(), named);
            for (below = top; below instanceof Filter; below = ((Filter) below).child()) {
                Condition one = columns.condition(((Filter) below).condition(), false);
                found.condition = found.condition == null
                    ? one : Condition.joined("and", found.condition, one);
            }
            return found;
        }

        Set skipped(Condition condition) {
            return PrunedReads.skipped(picked.preparedScan().files(), condition, MOST_NANOSECONDS);
        }

        ObjectNode explained() {
            ObjectNode found = JsonNodeFactory.instance.objectNode();
            DeltaScan scan = picked.preparedScan();
            put(found, "total", scan.total());
            put(found, "partition", scan.partition());
            put(found, "scanned", scan.scanned());
            put(found, "kept", location.preparedScan().scanned());
            found.put("untagged", tagged(null));
            ArrayNode conditions = found.putArray("conditions");
            List leaves = condition.leaves();
            for (int n = 0; n < leaves.size(); n++) {
                Condition leaf = (Condition) leaves.get(n);
                ObjectNode one = conditions.addObject();
                one.put("text", leaf.text);
                one.put("known", leaf.isKnown());
                one.put("indexed", leaf.isKnown() ? tagged(leaf.column) : 0);
                one.put("excluded", skipped(leaf).size());
            }
            return found;
        }

        /** Of how many files the tags say anything of a column; with null, how many have no tag. */
        private int tagged(String column) {
            int number = 0;
            scala.collection.Iterator each = picked.preparedScan().files().iterator();
            while (each.hasNext()) {
                String tag = tag((AddFile) each.next());
                if (column == null ? tag == null : tag != null && new Condition.File(tag).knows(column)) {
                    number++;
                }
            }
            return number;
        }

        private static void put(ObjectNode found, String name, DataSize size) {
            ObjectNode one = found.putObject(name);
            if (size.files().isDefined()) {
                one.put("files", ((Long) size.files().get()).longValue());
            }
            if (size.bytesCompressed().isDefined()) {
                one.put("bytes", ((Long) size.bytesCompressed().get()).longValue());
            }
        }

        PrunedFileIndex without(Set skipped) {
            DeltaScan scan = picked.preparedScan();
            scala.collection.immutable.Seq kept = PrunedReads.without(scan.files(), skipped);
            DataSize size = new DataSize(Option.apply(Long.valueOf(bytes(kept))), Option.empty(),
                Option.apply(Long.valueOf(kept.size())), Option.empty());
            DeltaScan less = scan.copy(scan.version(), kept, scan.total(), scan.partition(), size,
                scan.scannedSnapshot(), scan.partitionFilters(), scan.dataFilters(),
                scan.partitionLikeDataFilters(), scan.rewrittenPartitionLikeDataFilters(),
                scan.unusedFilters(), scan.scanDurationMs(), scan.dataSkippingType());
            return new PrunedFileIndex(location, less, skipped);
        }
    }

    /**
     * What is left of each table's files that filters stand above, as JSON.
     *
     * @param plan an optimized plan, whether this rule saw it or not
     */
    public static String explain(LogicalPlan plan) {
        ArrayNode found = JsonNodeFactory.instance.arrayNode();
        explain(plan, found);
        return found.toString();
    }

    private static void explain(LogicalPlan plan, ArrayNode found) {
        Read read = plan instanceof Filter ? Read.of((Filter) plan, true) : null;
        if (read != null) {
            found.add(read.explained());
            return;
        }
        scala.collection.Iterator each = plan.children().iterator();
        while (each.hasNext()) {
            explain((LogicalPlan) each.next(), found);
        }
    }

    static String tag(AddFile file) {
        if (file.tags() == null) {
            return null;
        }
        Option found = file.tags().get(TAG);
        return found.isDefined() ? (String) found.get() : null;
    }

    private static long bytes(scala.collection.immutable.Seq files) {
        long sum = 0;
        scala.collection.Iterator each = files.iterator();
        while (each.hasNext()) {
            sum += ((AddFile) each.next()).size();
        }
        return sum;
    }
}
