package alluvium;

import java.math.BigDecimal;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.expressions.ExprUtils;
import scala.Function1;

/**
 * The decimal that a text is. Null for a text that is none, or none that the type holds as it is:
 * Spark's own parsers round, and pass over each comma.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class ExactDecimal implements UDF1 {

    private final int precision;
    private final int scale;
    private final String locale;
    /** Spark's own, for a locale. */
    private transient Function1 parser;

    /** @param locale its tag; null for plain numbers */
    public ExactDecimal(Configuration conf, int precision, int scale, String locale) {
        this.precision = precision;
        this.scale = scale;
        this.locale = locale;
    }

    public Object call(Object text) {
        if (text == null) {
            return null;
        }
        if (parser == null && locale != null) {
            parser = parserOf(locale);
        }
        return read((String) text, parser, precision, scale);
    }

    static Function1 parserOf(String locale) {
        return ExprUtils.getDecimalParser(Locale.forLanguageTag(locale));
    }

    /** @param parser null for plain numbers */
    static BigDecimal read(String text, Function1 parser, int precision, int scale) {
        try {
            BigDecimal number = parser == null ? new BigDecimal(text) : (BigDecimal) parser.apply(text);
            return fits(number, precision, scale) ? number.setScale(scale) : null;
        } catch (RuntimeException none) {
            return null;
        }
    }

    /** Whether a type holds a number without rounding. */
    static boolean fits(BigDecimal number, int precision, int scale) {
        if (number.signum() == 0) {
            return true;
        }
        BigDecimal shortest = number.stripTrailingZeros();
        return shortest.scale() <= scale
            && (long) shortest.precision() - shortest.scale() <= precision - scale;
    }
}
