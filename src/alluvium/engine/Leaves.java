package alluvium;

import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import scala.Function1;
import scala.PartialFunction;
import scala.runtime.AbstractPartialFunction;

/** Other leaves in a plan and in its subqueries, which Python cannot put there. */
public final class Leaves {

    /** @param others a leaf for each one that is replaced */
    public static LogicalPlan replaced(LogicalPlan plan, final Map others) {
        PartialFunction replace = new AbstractPartialFunction() {
            public boolean isDefinedAt(Object node) {
                return others.containsKey(node);
            }

            public Object applyOrElse(Object node, Function1 otherwise) {
                return isDefinedAt(node) ? others.get(node) : otherwise.apply(node);
            }
        };
        return (LogicalPlan) plan.transformUpWithSubqueries(replace);
    }
}
