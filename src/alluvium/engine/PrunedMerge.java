package alluvium;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.delta.DeltaParquetFileFormat;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Which of a merge's candidate files may hold a row that its batch matches: not those whose tag has
 * none of the batch's values in a column that has to be equal.
 */
public final class PrunedMerge {

    private static final Logger LOG = LoggerFactory.getLogger("alluvium.PrunedMerge");

    /** A column of the target that equals one of the source in all rows that match. */
    private static final class Key {
        AttributeReference target;
        Attribute source;
        boolean isNullSafe;
    }

    private final Seq candidates;
    private final Columns columns;
    private final List keys = new ArrayList();
    private long files;
    private long bytes;
    private Condition condition;

    private PrunedMerge(Seq candidates, Columns columns) {
        this.candidates = candidates;
        this.columns = columns;
    }

    /**
     * Null where no file could be left out.
     *
     * @param target the plan that reads the target
     * @param on the merge's condition
     * @param scanned the schema of the version whose files are the candidates
     * @param candidates AddFile actions
     */
    public static PrunedMerge of(SparkSession session, LogicalPlan target, LogicalPlan source,
            Expression on, StructType scanned, Seq candidates) {
        try {
            return PrunedReads.isOn(session) ? made(target, source, on, scanned, candidates) : null;
        } catch (Exception problem) {
            return unpruned(problem);
        } catch (LinkageError problem) {
            return unpruned(problem);
        } catch (StackOverflowError problem) {
            return unpruned(problem);
        }
    }

    private static PrunedMerge made(LogicalPlan target, LogicalPlan source, Expression on,
            StructType scanned, Seq candidates) {
        Seq leaves = target.collectLeaves();
        if (leaves.size() != 1 || !(leaves.head() instanceof LogicalRelation)) {
            return null;
        }
        LogicalRelation relation = (LogicalRelation) leaves.head();
        if (!(relation.relation() instanceof HadoopFsRelation)) {
            return null;
        }
        HadoopFsRelation read = (HadoopFsRelation) relation.relation();
        if (!(read.fileFormat() instanceof DeltaParquetFileFormat)) {
            return null;
        }
        StructType schema = ((DeltaParquetFileFormat) read.fileFormat()).metadata().schema();
        PrunedMerge found =
            new PrunedMerge(candidates, new Columns(relation, schema, scanned, false));
        List equalities = new ArrayList();
        addKeys(equalities, on, target, source);
        for (int n = 0; n < equalities.size(); n++) {
            found.keepIndexed((Key) equalities.get(n));
        }
        return found.keys.isEmpty() ? null : found;
    }

    private static void addKeys(List found, Expression one, LogicalPlan target,
            LogicalPlan source) {
        if (one instanceof And) {
            addKeys(found, ((And) one).left(), target, source);
            addKeys(found, ((And) one).right(), target, source);
            return;
        }
        if (!(one instanceof EqualTo) && !(one instanceof EqualNullSafe)) {
            return;
        }
        Expression left = (Expression) one.children().apply(0);
        Expression right = (Expression) one.children().apply(1);
        // Columns as they are: what a cast makes of a value is not in the tag.
        if (!(left instanceof AttributeReference) || !(right instanceof AttributeReference)
                || !left.dataType().equals(right.dataType())) {
            return;
        }
        boolean isTurned = target.outputSet().contains((AttributeReference) right);
        Key key = new Key();
        key.target = (AttributeReference) (isTurned ? right : left);
        key.source = (Attribute) (isTurned ? left : right);
        key.isNullSafe = one instanceof EqualNullSafe;
        if (target.outputSet().contains(key.target) && source.outputSet().contains(key.source)) {
            found.add(key);
        }
    }

    /** Adds a key if the tag of some candidate names its column, whatever it says. */
    private void keepIndexed(Key key) {
        Condition known = columns.condition(new IsNotNull(key.target), false);
        if (!known.isKnown()) {
            return;
        }
        long number = 0;
        long size = 0;
        scala.collection.Iterator each = candidates.iterator();
        while (each.hasNext()) {
            AddFile file = (AddFile) each.next();
            String tag = PrunedReads.tag(file);
            if (tag != null && tag.indexOf(known.column) >= 0) {
                number++;
                size += file.size();
            }
        }
        if (number > 0) {
            keys.add(key);
            files = Math.max(files, number);
            bytes = Math.max(bytes, size);
        }
    }

    /** The columns of the source whose values are asked for. */
    public List sources() {
        List found = new ArrayList();
        for (int n = 0; n < keys.size(); n++) {
            found.add(((Key) keys.get(n)).source);
        }
        return found;
    }

    /** How many candidates a tag could leave out. */
    public long files() {
        return files;
    }

    /** Bytes of these. */
    public long bytes() {
        return bytes;
    }

    /**
     * Takes in what a column of the source has.
     *
     * @param place among `sources`
     * @param rows all of its values, with NULL if it is there, one in a row
     */
    public void ask(int place, InternalRow[] rows) {
        Key key = (Key) keys.get(place);
        Set values = new HashSet();
        boolean hasNull = false;
        for (int n = 0; n < rows.length; n++) {
            if (rows[n].isNullAt(0)) {
                hasNull = true;
            } else {
                values.add(rows[n].get(0, key.source.dataType()));
            }
        }
        Condition asked = columns.condition(
            new InSet(key.target, CollectionConverters.asScala(values).toSet()), false);
        if (hasNull && key.isNullSafe) {
            asked = Condition.joined(
                "or", asked, columns.condition(new IsNull(key.target), false));
        }
        condition = condition == null ? asked : Condition.joined("and", condition, asked);
    }

    /**
     * The candidates, less those that have no row with these values.
     *
     * @param nanoseconds what is not decided by then is kept
     */
    public Seq kept(long nanoseconds) {
        try {
            return condition == null ? candidates : PrunedReads.without(
                candidates, PrunedReads.skipped(candidates, condition, nanoseconds));
        } catch (Exception problem) {
            return all(problem);
        } catch (LinkageError problem) {
            return all(problem);
        } catch (StackOverflowError problem) {
            return all(problem);
        }
    }

    private Seq all(Throwable problem) {
        unpruned(problem);
        return candidates;
    }

    private static PrunedMerge unpruned(Throwable problem) {
        LOG.warn("A merge reads all of its candidate files: tags could not be used", problem);
        return null;
    }
}
