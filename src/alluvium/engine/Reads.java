package alluvium;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.antlr.v4.runtime.CharStreams;
import org.antlr.v4.runtime.Token;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.InheritAnalysisRules;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.RuntimeReplaceable;
import org.apache.spark.sql.catalyst.expressions.objects.Invoke;
import org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke;
import org.apache.spark.sql.catalyst.parser.SqlBaseLexer;
import org.apache.spark.sql.catalyst.parser.UpperCaseCharStream;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTableAsSelectPlan;
import org.apache.spark.sql.catalyst.plans.logical.View;
import org.apache.spark.sql.delta.files.TahoeLogFileIndex;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DatetimeType;
import org.apache.spark.sql.types.StringType;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** What the result of a query hangs on, as its analysed plan tells it. */
public final class Reads {
    private static final String WORDS = "a date or time in words";
    private static final String NUMBER = "(?s)\\s*[-+]?[0-9].*";
    /** Functions of which the plan has the values of all arguments but the first. */
    private static final String PARSES = "(?i)`?(from|to)_(json|csv)`?";

    private final Set kinds = new TreeSet();
    private final List tables = new ArrayList();
    private final Map views = new TreeMap();

    /**
     * @return JSON: `kinds`, the classes of the plan's nodes and expressions, and in words what is
     *     no class; `tables`, each with name, id and version when it was analysed, and whether it
     *     is read at a version that is named; `views`, by name what `view` gives.
     */
    public static String of(QueryExecution query) throws Exception {
        Reads found = new Reads();
        // As it was analysed, but for what is read from rows that Spark keeps.
        found.look(
                query.analyzed() instanceof V2CreateTableAsSelectPlan
                        ? query.sparkSession()
                                .sessionState()
                                .executePlan(
                                        ((V2CreateTableAsSelectPlan) query.analyzed()).query(),
                                        CommandExecutionMode.SKIP())
                                .withCachedData()
                        : query.withCachedData());
        Map all = new TreeMap();
        all.put("kinds", found.kinds);
        all.put("tables", found.tables);
        all.put("views", found.views);
        return new ObjectMapper().writeValueAsString(all);
    }

    /** All of a view that a query which reads it hangs on. */
    public static String view(CatalogTable view) throws Exception {
        Map all = new TreeMap(CollectionConverters.asJava(view.properties()));
        all.remove("transient_lastDdlTime");
        all.put("text", String.valueOf(view.viewText()));
        all.put("schema", view.schema().json());
        return new ObjectMapper().writeValueAsString(all);
    }

    /**
     * What a text says that its plan does not tell: a date in a word, as DATE 'today', a name or a
     * schema that Spark computes, and a variable that it may replace; null for nothing.
     */
    public static String inText(String sql) {
        if (sql.contains("${")) {
            return "a variable in its text";
        }
        SqlBaseLexer lexer = new SqlBaseLexer(new UpperCaseCharStream(CharStreams.fromString(sql)));
        lexer.removeErrorListeners();
        String before = "";
        List tokens = new ArrayList();
        for (Object token : lexer.getAllTokens()) {
            if (((Token) token).getChannel() == Token.DEFAULT_CHANNEL) {
                tokens.add(token);
            }
        }
        for (int i = 0; i < tokens.size(); i++) {
            Token token = (Token) tokens.get(i);
            String text = token.getText();
            if (isText(token)
                    && before.matches("(?i)(date|time).*")
                    && !text.replaceFirst("^[rR]?['\"]", "").matches(NUMBER)) {
                return WORDS;
            }
            if (text.equals("(") && before.equalsIgnoreCase("identifier")) {
                return "a name that is computed";
            }
            if (text.equals("(") && before.matches(PARSES) && !isWrittenOut(tokens, i)) {
                return "an argument of " + before.replace("`", "") + " that is computed";
            }
            before = text;
        }
        return null;
    }

    private static boolean isText(Token token) {
        return token.getType() == SqlBaseLexer.STRING_LITERAL
                || token.getType() == SqlBaseLexer.DOUBLEQUOTED_STRING;
    }

    /**
     * Whether the arguments behind the first are texts, or maps of them.
     *
     * @param open the place of their bracket
     */
    private static boolean isWrittenOut(List tokens, int open) {
        int depth = 0;
        boolean isFirst = true;
        for (int i = open; i < tokens.size(); i++) {
            Token token = (Token) tokens.get(i);
            String text = token.getText();
            depth += text.equals("(") || text.equals("[") ? 1 : 0;
            depth -= text.equals(")") || text.equals("]") ? 1 : 0;
            if (depth == 0) {
                return true;
            }
            if (isFirst && depth == 1 && text.equals(",")) {
                isFirst = false;
            } else if (!isFirst && !isText(token) && !text.matches("(?i)map|[(),]")) {
                return false;
            }
        }
        return false;
    }

    private static String name(CatalogTable table) {
        TableIdentifier name = table.identifier();
        String schema = name.database().isDefined() ? (String) name.database().get() : "";
        return "`" + schema.replace("`", "``") + "`.`" + name.table().replace("`", "``") + "`";
    }

    private static boolean isElsewhere(CatalogTable table) {
        TableIdentifier name = table.identifier();
        return name.database().isEmpty()
                || name.catalog().isDefined() && !"spark_catalog".equals(name.catalog().get());
    }

    private void look(LogicalPlan plan) throws Exception {
        kinds.add(plan.getClass().getName());
        if (plan instanceof View) {
            view((View) plan);
        } else if (plan instanceof LogicalRelation) {
            table((LogicalRelation) plan);
        }
        each(plan.expressions());
        for (Object child : CollectionConverters.asJava(plan.children())) {
            look((LogicalPlan) child);
        }
    }

    private void view(View view) throws Exception {
        CatalogTable found = view.desc();
        if (view.isTempView() || isElsewhere(found)) {
            kinds.add("a temporary view");
        } else {
            views.put(name(found), view(found));
        }
        String said = found.viewText().isDefined() ? inText((String) found.viewText().get()) : null;
        if (said != null) {
            kinds.add(said);
        }
    }

    private void table(LogicalRelation leaf) {
        Object index =
                leaf.relation() instanceof HadoopFsRelation
                        ? ((HadoopFsRelation) leaf.relation()).location()
                        : null;
        if (!(index instanceof TahoeLogFileIndex)
                || leaf.isStreaming()
                || leaf.catalogTable().isEmpty()
                || isElsewhere((CatalogTable) leaf.catalogTable().get())) {
            kinds.add("what is not a Delta table with a name");
            return;
        }
        TahoeLogFileIndex files = (TahoeLogFileIndex) index;
        if (files.partitionFilters().nonEmpty()) {
            kinds.add("a part of a table by its path");
        }
        Map one = new TreeMap();
        one.put("name", name((CatalogTable) leaf.catalogTable().get()));
        one.put("id", files.snapshotAtAnalysis().metadata().id());
        one.put("version", Long.valueOf(files.snapshotAtAnalysis().version()));
        one.put("named", Boolean.valueOf(files.isTimeTravelQuery()));
        tables.add(one);
    }

    private void look(Expression one) throws Exception {
        kinds.add(one.getClass().getName());
        if (one instanceof AttributeReference) {
            String metadata = ((AttributeReference) one).metadata().json();
            if (metadata.contains("metadata_col")) {
                kinds.add("a column of metadata");
            }
        }
        if (one instanceof Cast && one.dataType() instanceof DatetimeType) {
            Expression from = ((Cast) one).child();
            boolean isNumber =
                    from instanceof Literal
                            && String.valueOf(((Literal) from).value()).matches(NUMBER);
            if (from.foldable() && from.dataType() instanceof StringType && !isNumber) {
                kinds.add(WORDS);
            }
        }
        if (one instanceof PlanExpression) {
            look((LogicalPlan) ((PlanExpression) one).plan());
        }
        if (one instanceof RuntimeReplaceable) {
            Expression by = ((RuntimeReplaceable) one).replacement();
            if (by instanceof Invoke || by instanceof StaticInvoke) {
                each(by.children()); // a call of Java, which is as known as what it computes
            } else {
                look(by);
            }
        }
        if (one instanceof InheritAnalysisRules) {
            // What it was made from: the value of an argument may be all that is left of it.
            each(((InheritAnalysisRules) one).parameters());
        }
        each(one.children());
    }

    private void each(Seq expressions) throws Exception {
        for (Object one : CollectionConverters.asJava(expressions)) {
            look((Expression) one);
        }
    }
}
