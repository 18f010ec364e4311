package alluvium;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.And;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Contains;
import org.apache.spark.sql.catalyst.expressions.EqualNullSafe;
import org.apache.spark.sql.catalyst.expressions.EqualTo;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GreaterThan;
import org.apache.spark.sql.catalyst.expressions.GreaterThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.In;
import org.apache.spark.sql.catalyst.expressions.InSet;
import org.apache.spark.sql.catalyst.expressions.IsNotNull;
import org.apache.spark.sql.catalyst.expressions.IsNull;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.LessThanOrEqual;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Not;
import org.apache.spark.sql.catalyst.expressions.Or;
import org.apache.spark.sql.catalyst.expressions.StartsWith;
import org.apache.spark.sql.delta.DeltaColumnMapping;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** The columns of a Delta table that a query reads, and Spark's expressions as conditions on them. */
final class Columns {

    private static final Object DOUBT = new Object();

    private final boolean named;
    private final LogicalRelation relation;
    private final StructType read;
    private final StructType scanned;

    /**
     * @param read the schema by which the files are read
     * @param scanned the schema of the version whose files are read
     * @param named whether conditions are called what they are in the query, which takes time
     */
    Columns(LogicalRelation relation, StructType read, StructType scanned, boolean named) {
        this.named = named;
        this.relation = relation;
        this.read = read;
        this.scanned = scanned;
    }

    /** @param negated whether NOT stands before it */
    Condition condition(Expression one, boolean negated) {
        if (one instanceof Not) {
            return condition(((Not) one).child(), !negated);
        }
        if (one instanceof And) {
            return Condition.joined(negated ? "or" : "and",
                condition(((And) one).left(), negated), condition(((And) one).right(), negated));
        }
        if (one instanceof Or) {
            return Condition.joined(negated ? "and" : "or",
                condition(((Or) one).left(), negated), condition(((Or) one).right(), negated));
        }
        Condition found = comparison(one, negated);
        return found != null ? found : Condition.unknown(text(one, negated));
    }

    private String text(Expression one, boolean negated) {
        if (!named) {
            return null;
        }
        return negated && one instanceof IsNull
            ? new IsNotNull(((IsNull) one).child()).sql() : (negated ? "NOT " : "") + one.sql();
    }

    private Condition comparison(Expression one, boolean negated) {
        if (one instanceof AttributeReference && typeName(one).equals("boolean")) {
            return made("=", one, new Object[] {Long.valueOf(1)}, negated, one);
        }
        if (one instanceof IsNull) {
            return made("is_null", ((IsNull) one).child(), new Object[0], negated, one);
        }
        if (one instanceof IsNotNull) {
            return comparison(new IsNull(((IsNotNull) one).child()), !negated);
        }
        if (one instanceof In) {
            Object[] values = new Object[((In) one).list().size()];
            for (int n = 0; n < values.length; n++) {
                values[n] = literal((Expression) ((In) one).list().apply(n), ((In) one).value());
            }
            return made("in", ((In) one).value(), values, negated, one);
        }
        if (one instanceof InSet) {
            Expression column = ((InSet) one).child();
            List values = new ArrayList();
            for (Object each : CollectionConverters.asJava(((InSet) one).hset())) {
                values.add(value(each, column.dataType()));
            }
            return made("in", column, values.toArray(), negated, one);
        }
        if (one.children().size() != 2) {
            return null;
        }
        Expression left = (Expression) one.children().apply(0);
        Expression right = (Expression) one.children().apply(1);
        String operator = operator(one, left instanceof AttributeReference);
        if (operator == null) {
            return null;
        }
        boolean turned = !(left instanceof AttributeReference);
        Expression column = turned ? right : left;
        Object[] values = new Object[] {literal(turned ? left : right, column)};
        return made(operator, column, values, negated, one);
    }

    private static String operator(Expression one, boolean columnIsLeft) {
        if (one instanceof EqualTo) {
            return "=";
        }
        if (one instanceof EqualNullSafe) {
            return "<=>";
        }
        if (one instanceof LessThan) {
            return columnIsLeft ? "<" : ">";
        }
        if (one instanceof LessThanOrEqual) {
            return columnIsLeft ? "<=" : ">=";
        }
        if (one instanceof GreaterThan) {
            return columnIsLeft ? ">" : "<";
        }
        if (one instanceof GreaterThanOrEqual) {
            return columnIsLeft ? ">=" : "<=";
        }
        if (one instanceof StartsWith && columnIsLeft) {
            return "starts_with";
        }
        return one instanceof Contains && columnIsLeft ? "contains" : null;
    }

    private Condition made(String operator, Expression column, Object[] values, boolean negated,
            Expression whole) {
        if (!(column instanceof AttributeReference) || Arrays.asList(values).contains(DOUBT)) {
            return null;
        }
        String physical = physical((AttributeReference) column);
        String family = family(column.dataType());
        return physical == null || family == null ? null : Condition.comparison(operator, physical,
            family, values, negated, text(whole, negated));
    }

    /** The name of a column in files and tags; null if that is not sure. */
    private String physical(AttributeReference column) {
        for (int n = 0; n < relation.output().size(); n++) {
            Attribute one = (Attribute) relation.output().apply(n);
            if (one.exprId().equals(column.exprId())) {
                StructField field = field(read, one.name());
                StructField now = field(scanned, one.name());
                if (field == null || now == null || isPadded(field) || isPadded(now)) {
                    return null;
                }
                String name = DeltaColumnMapping.getPhysicalName(field);
                return name.equals(DeltaColumnMapping.getPhysicalName(now)) ? name : null;
            }
        }
        return null;
    }

    private static StructField field(StructType schema, String name) {
        Option place = schema.getFieldIndex(name);
        return place.isEmpty() ? null : schema.fields()[((Integer) place.get()).intValue()];
    }

    /** Whether it is a CHAR(n), of whose values blanks are no part. */
    private static boolean isPadded(StructField field) {
        String key = "__CHAR_VARCHAR_TYPE_STRING";
        return field.metadata().contains(key)
            && field.metadata().getString(key).toLowerCase().startsWith("char");
    }

    private static String typeName(Expression one) {
        return one.dataType().catalogString();
    }

    /** What `Condition` calls a type; null for one that has no index. */
    private static String family(DataType type) {
        if (type instanceof StringType) {
            // The default collation alone has this name.
            return type.catalogString().equals("string") ? "string" : null;
        }
        if (type instanceof DecimalType) {
            return "decimal";
        }
        String name = type.catalogString();
        if (name.equals("tinyint") || name.equals("smallint") || name.equals("int")
                || name.equals("bigint")) {
            return "integer";
        }
        return name.equals("boolean") || name.equals("date") || name.equals("timestamp")
            || name.equals("timestamp_ntz") ? name : null;
    }

    private static Object literal(Expression one, Expression column) {
        if (!(one instanceof Literal) || !one.dataType().equals(column.dataType())) {
            return DOUBT;
        }
        return value(((Literal) one).value(), one.dataType());
    }

    /** One of Spark's own values as `Condition` takes it. */
    private static Object value(Object one, DataType type) {
        if (one == null) {
            return null;
        }
        if (one instanceof UTF8String) {
            return ((UTF8String) one).isValid() ? ((UTF8String) one).toString() : DOUBT;
        }
        if (one instanceof Decimal) {
            return ((Decimal) one).toJavaBigDecimal();
        }
        if (one instanceof Boolean) {
            return Long.valueOf(((Boolean) one).booleanValue() ? 1 : 0);
        }
        if (one instanceof Long || one instanceof Integer || one instanceof Short
                || one instanceof Byte) {
            return Long.valueOf(((Number) one).longValue());
        }
        return DOUBT;
    }
}
