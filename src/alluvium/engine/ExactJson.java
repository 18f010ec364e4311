package alluvium;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Function1;
import scala.Option;

/**
 * A record of JSON with null in the place of each number, day or time that its type does not hold. Null for a
 * record that stays as it is. Spark's own parser rounds a decimal, passes over each comma in one that
 * is a text, and reads a fraction that is too large as an infinity.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class ExactJson implements UDF1 {

    /** Of the years 1 to 9999, which other engines know. */
    private static final long FIRST_SECOND = -62135596800L;
    private static final long LAST_SECOND = 253402300799L;
    private static final Pattern TIME = Pattern.compile("\\s*T?\\d{1,2}:");
    private static final Pattern LONG_YEAR = Pattern.compile("\\s*[+-]?\\d{5,}");

    private final StructType schema;
    private final JSONOptions options;
    private final String locale;
    private transient JsonFactory factory;
    private transient Function1 decimals;

    /** @param locale its tag, if decimals in texts are written as there; else null */
    public ExactJson(Configuration conf, StructType schema, JSONOptions options, String locale) {
        this.schema = schema;
        this.options = options;
        this.locale = locale;
    }

    public Object call(Object text) {
        if (text == null) {
            return null;
        }
        if (factory == null) {
            factory = options.buildJsonFactory();
            decimals = locale == null ? null : ExactDecimal.parserOf(locale);
        }
        String record = (String) text;
        Walk walk = new Walk(record, decimals, options);
        try {
            JsonParser parser = factory.createParser(record);
            DataType whole = schema;
            if (parser.nextToken() == JsonToken.START_ARRAY) {
                whole = new ArrayType(schema, true);
            }
            walk.look(parser, whole);
        } catch (IOException broken) {
            return null; // Spark says so.
        } catch (RuntimeException broken) {
            return null;
        }
        return walk.made == null ? null : walk.made.append(record, walk.done, record.length()).toString();
    }

    /** One record. */
    private static class Walk {

        private final String record;
        private final Function1 decimals;
        private final JSONOptions options;
        /** The record as it shall be, up to `done`; null while nothing changes. */
        StringBuilder made;
        int done;

        Walk(String record, Function1 decimals, JSONOptions options) {
            this.record = record;
            this.decimals = decimals;
            this.options = options;
        }

        /** The value that the parser stands at. */
        void look(JsonParser parser, DataType type) throws IOException {
            JsonToken token = parser.currentToken();
            if (token == JsonToken.START_ARRAY && type instanceof ArrayType) {
                while (more(parser, JsonToken.END_ARRAY)) {
                    look(parser, ((ArrayType) type).elementType());
                }
            } else if (token == JsonToken.START_OBJECT && (type instanceof StructType || type instanceof MapType)) {
                while (more(parser, JsonToken.END_OBJECT)) {
                    DataType of = type instanceof MapType ? ((MapType) type).valueType() : field((StructType) type, parser.currentName());
                    parser.nextToken();
                    look(parser, of);
                }
            } else if (token == JsonToken.START_ARRAY || token == JsonToken.START_OBJECT) {
                parser.skipChildren();
            } else if (isLost(parser, token, type)) {
                int begin = (int) parser.currentTokenLocation().getCharOffset();
                int length = parser.getTextLength();
                int end = token == JsonToken.VALUE_STRING ? (int) parser.currentLocation().getCharOffset() : begin + length;
                made = made == null ? new StringBuilder() : made;
                made.append(record, done, begin).append("null");
                done = end;
            }
        }

        private static boolean more(JsonParser parser, JsonToken last) throws IOException {
            JsonToken next = parser.nextToken();
            return next != null && next != last;
        }

        private static DataType field(StructType type, String name) {
            Option place = type.getFieldIndex(name);
            return place.isEmpty() ? null : type.fields()[((Integer) place.get()).intValue()].dataType();
        }

        private static boolean fits(String number, long least, long most) {
            BigDecimal value = new BigDecimal(number);
            return value.compareTo(BigDecimal.valueOf(least)) >= 0 && value.compareTo(BigDecimal.valueOf(most)) <= 0;
        }

        /**
         * Whether a text without a format of the user's is a time alone, to which Spark adds the day of the run, or
         * has a year of more than four digits.
         */
        private boolean isNoDay(String text, DataType type) {
            Option format = type instanceof DateType ? options.dateFormatInRead()
                : type instanceof TimestampType ? options.timestampFormatInRead() : options.timestampNTZFormatInRead();
            // Without a zone Spark itself refuses a time alone.
            return format.isEmpty()
                && (type instanceof TimestampType && TIME.matcher(text).lookingAt() || LONG_YEAR.matcher(text).lookingAt());
        }

        /** Whether a value is a number, day or time that Spark would read as another one. */
        private boolean isLost(JsonParser parser, JsonToken token, DataType type) throws IOException {
            boolean isNumber = token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
            try {
                if (type instanceof DecimalType && (isNumber || token == JsonToken.VALUE_STRING)) {
                    int precision = ((DecimalType) type).precision();
                    int scale = ((DecimalType) type).scale();
                    if (isNumber) {
                        return !ExactDecimal.fits(new BigDecimal(parser.getText()), precision, scale);
                    }
                    return ExactDecimal.read(parser.getText(), decimals, precision, scale) == null;
                }
                if (type instanceof ByteType) { // Jackson takes a byte to be one without a sign, too
                    return token == JsonToken.VALUE_NUMBER_INT && !fits(parser.getText(), -128, 127);
                }
                if (type instanceof TimestampType || type instanceof DateType || type instanceof TimestampNTZType) {
                    return token == JsonToken.VALUE_NUMBER_INT
                        ? type instanceof TimestampType && !fits(parser.getText(), FIRST_SECOND, LAST_SECOND)
                        : token == JsonToken.VALUE_STRING && isNoDay(parser.getText(), type);
                }
                String text = isNumber ? parser.getText() : "";
                if (text.isEmpty() || !Character.isDigit(text.charAt(text.length() - 1))) {
                    return false; // NaN and Infinity are words
                }
                return type instanceof DoubleType && Double.isInfinite(Double.parseDouble(text))
                    || type instanceof FloatType && Float.isInfinite(Float.parseFloat(text));
            } catch (NumberFormatException word) {
                return false;
            }
        }
    }
}
