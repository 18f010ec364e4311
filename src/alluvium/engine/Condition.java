package alluvium;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A condition of a query on the columns of a table, and whether a data file may have a row for which
 * it is true. The file's tag answers; where it does not, the answer is yes.
 *
 * <p>The rules are those of `plan/automata` in Python: a test compares both.
 */
public final class Condition {

    /** What a tag says of one column. */
    private static final class Column {
        boolean hasNull;
        Automata texts;
        String type;
        long[] bounds;
    }

    /** Of a file, what was read of its tag so far. */
    public static final class File {
        private final String text;
        private JsonNode tag;
        private boolean isParsed;
        private final java.util.Map read = new java.util.HashMap();

        /** @param text the tag; null where the file has none */
        public File(String text) {
            this.text = text;
        }

        private JsonNode tag() {
            if (!isParsed) {
                isParsed = true;
                tag = parsed(text);
            }
            return tag;
        }

        private Column column(String name) {
            // Most tags name few columns. One that writes this name otherwise only lets the file in.
            if (text == null || (text.indexOf(name) < 0 && text.indexOf('\\') < 0)) {
                return null;
            }
            if (!read.containsKey(name)) {
                Column found = null;
                try {
                    found = tag() == null ? null : Condition.column(tag().get(name));
                } catch (RuntimeException unreadable) {
                    // It says nothing.
                } catch (StackOverflowError unreadable) {
                    // Nor does this one.
                }
                read.put(name, found);
            }
            return (Column) read.get(name);
        }

        /** Whether the tag says anything of a column that can be relied on. */
        public boolean knows(String column) {
            return column(column) != null;
        }
    }

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int VERSION = 1;
    /** Of so many values on a file's words are looked up in the list, and not each value in the file. */
    private static final int LONG_LIST = 16;
    /** 15 October 1582: days before may be shown otherwise than they are stored. */
    private static final long OLD_DAY = -141427;
    /** 1900, in microseconds: the same of timestamps. */
    private static final long OLD_MOMENT = -2208988800000000L;

    /** `and`, `or`, `unknown`, or a comparison: = <=> in < <= > >= starts_with contains is_null. */
    public final String operator;
    public final Condition[] parts;
    public final String column;
    public final String family;
    public final Object[] operands;
    public final boolean negated;
    /** What the condition is called in the query; null where nobody asks. */
    public final String text;
    /** Texts of the operands as characters, and numbers as a type has them: the same for all files. */
    private int[][] codes;
    private java.util.Set listed;
    private UTF8String[] ordered;
    private String numbersOf;
    private long[] numbers;

    private Condition(String operator, Condition[] parts, String column, String family,
            Object[] operands, boolean negated, String text) {
        this.operator = operator;
        this.parts = parts;
        this.column = column;
        this.family = family;
        this.operands = operands;
        this.negated = negated;
        this.text = text;
    }

    /** Of which no file can be said to have no row. */
    public static Condition unknown(String text) {
        return new Condition("unknown", new Condition[0], null, null, null, false, text);
    }

    /** @param operator `and` or `or` */
    public static Condition joined(String operator, Condition left, Condition right) {
        return new Condition(operator, new Condition[] {left, right}, null, null, null, false, null);
    }

    /**
     * One column beside literals.
     *
     * @param column its physical name
     * @param family `string`, `integer`, `boolean`, `date`, `timestamp`, `timestamp_ntz`, `decimal`
     * @param operands String, whole number or BigDecimal each, null for NULL
     * @param negated NOT stands before the condition
     */
    public static Condition comparison(String operator, String column, String family,
            Object[] operands, boolean negated, String text) {
        return new Condition(operator, new Condition[0], column, family, operands, negated, text);
    }

    /** The comparisons, those that nothing can be said of too. */
    public List leaves() {
        List found = new ArrayList();
        if (parts.length == 0) {
            found.add(this);
        }
        for (int n = 0; n < parts.length; n++) {
            found.addAll(parts[n].leaves());
        }
        return found;
    }

    /** Whether anything can be said by it of any file. */
    public boolean isKnown() {
        if (operator.equals("and")) {
            return parts[0].isKnown() || parts[1].isKnown();
        }
        if (operator.equals("or")) {
            return parts[0].isKnown() && parts[1].isKnown();
        }
        return !operator.equals("unknown");
    }

    /** Whether the file may have a row for which this is true. */
    public boolean mayHold(File file) {
        if (operator.equals("and")) {
            return parts[0].mayHold(file) && parts[1].mayHold(file);
        }
        if (operator.equals("or")) {
            return parts[0].mayHold(file) || parts[1].mayHold(file);
        }
        if (operator.equals("unknown")) {
            return true;
        }
        Column known = file.column(column);
        try {
            return known == null || mayHold(known);
        } catch (RuntimeException doubt) {
            return true;
        } catch (StackOverflowError doubt) {
            return true;
        }
    }

    private boolean mayHold(Column known) {
        if (!isOfFamily(known)) {
            return true;
        }
        if (known.hasNull && holdsForNull()) {
            return true;
        }
        boolean isEmpty = known.texts != null ? known.texts.isEmpty() : known.bounds.length == 0;
        if (operator.equals("is_null")) {
            return negated && !isEmpty;
        }
        Object[] asked = operands;
        if (Arrays.asList(operands).contains(null)) {
            if (operator.equals("<=>")) {
                return negated && !isEmpty;
            }
            if (!operator.equals("in") || negated) {
                return false;
            }
            List others = new ArrayList(Arrays.asList(operands));
            others.removeAll(Collections.singleton(null));
            asked = others.toArray();
        }
        return known.texts != null ? mayHoldText(known.texts, asked) : mayHoldNumber(known, asked);
    }

    private boolean isOfFamily(Column known) {
        if (known.texts != null) {
            return family.equals("string");
        }
        if (family.equals("integer")) {
            return known.type.equals("int") || known.type.equals("bigint")
                || known.type.equals("smallint") || known.type.equals("tinyint");
        }
        return known.type.startsWith("decimal(")
            ? family.equals("decimal") : family.equals(known.type);
    }

    private boolean holdsForNull() {
        if (operator.equals("is_null")) {
            return !negated;
        }
        if (operator.equals("<=>")) {
            return (operands[0] == null) != negated;
        }
        return operator.equals("in") && operands.length == 0 && negated;
    }

    private boolean mayHoldText(Automata texts, Object[] asked) {
        boolean isOne = operator.equals("=") || operator.equals("<=>") || operator.equals("in");
        if (!negated && asked.length > LONG_LIST && texts.words() != null) {
            if (listed == null) {
                listed = new HashSet(Arrays.asList(asked));
            }
            return !Collections.disjoint(listed, texts.words());
        }
        if (!negated && (isOne || operator.equals("starts_with"))) {
            if (codes == null) {
                codes = new int[asked.length][];
                for (int n = 0; n < asked.length; n++) {
                    codes[n] = ((String) asked[n]).codePoints().toArray();
                }
            }
            for (int n = 0; n < codes.length; n++) {
                if (texts.accepts(codes[n], !isOne)) {
                    return true;
                }
            }
            return false;
        }
        // A word that is no value of the file only lets the file in.
        List words = texts.words();
        if (words == null) {
            return true;
        }
        for (int n = 0; n < words.size(); n++) {
            if (holdsForText((String) words.get(n), asked) != negated) {
                return true;
            }
        }
        return false;
    }

    private boolean holdsForText(String word, Object[] asked) {
        if (operator.equals("starts_with")) {
            return word.startsWith((String) asked[0]);
        }
        if (operator.equals("contains")) {
            return word.indexOf((String) asked[0]) >= 0;
        }
        if (ordered == null) {
            ordered = new UTF8String[asked.length];
            for (int n = 0; n < asked.length; n++) {
                ordered[n] = UTF8String.fromString((String) asked[n]);
            }
        }
        UTF8String own = UTF8String.fromString(word);
        for (int n = 0; n < ordered.length; n++) {
            if (isOrdered(own.compareTo(ordered[n]))) {
                return true;
            }
        }
        return false;
    }

    private boolean isOrdered(int order) {
        if (operator.equals("<")) {
            return order < 0;
        }
        if (operator.equals("<=")) {
            return order <= 0;
        }
        if (operator.equals(">")) {
            return order > 0;
        }
        if (operator.equals(">=")) {
            return order >= 0;
        }
        return order == 0;
    }

    private boolean mayHoldNumber(Column known, Object[] asked) {
        if (!known.type.equals(numbersOf)) {
            numbers = numbers(known.type, asked);
            numbersOf = known.type;
        }
        if (numbers.length > 0 && isOld(numbers[0])) {
            return true;
        }
        for (int n = 0; n < known.bounds.length; n += 2) {
            if (mayHoldBetween(known.bounds[n], known.bounds[n + 1])) {
                return true;
            }
        }
        return false;
    }

    /** In their order, each once. */
    private static long[] numbers(String type, Object[] asked) {
        java.util.TreeSet found = new java.util.TreeSet();
        for (int n = 0; n < asked.length; n++) {
            if (asked[n] instanceof BigDecimal) {
                String scale = type.substring(type.indexOf(',') + 1);
                int digits = Integer.parseInt(scale.substring(0, scale.length() - 1));
                // Throws where there are more digits, or more than 64 bits.
                found.add(Long.valueOf(
                    ((BigDecimal) asked[n]).setScale(digits).unscaledValue().longValueExact()));
            } else {
                found.add(Long.valueOf(((Number) asked[n]).longValue()));
            }
        }
        long[] sorted = new long[found.size()];
        Iterator each = found.iterator();
        for (int n = 0; n < sorted.length; n++) {
            sorted[n] = ((Long) each.next()).longValue();
        }
        return sorted;
    }

    private boolean isOld(long number) {
        return (family.equals("date") && number < OLD_DAY)
            || (family.startsWith("timestamp") && number < OLD_MOMENT);
    }

    private boolean mayHoldBetween(long low, long high) {
        if (operator.equals("<")) {
            return negated ? high >= numbers[0] : low < numbers[0];
        }
        if (operator.equals("<=")) {
            return negated ? high > numbers[0] : low <= numbers[0];
        }
        if (operator.equals(">")) {
            return negated ? low <= numbers[0] : high > numbers[0];
        }
        if (operator.equals(">=")) {
            return negated ? low < numbers[0] : high >= numbers[0];
        }
        if (!operator.equals("=") && !operator.equals("<=>") && !operator.equals("in")) {
            return true;
        }
        long inside = before(high, true) - before(low, false);
        // An interval of more than 2^63 numbers is a negative one here.
        long width = high - low + 1;
        return negated ? width <= 0 || width > inside : inside > 0;
    }

    /** How many of the numbers are less than this one, or as large. */
    private long before(long number, boolean orEqual) {
        int place = java.util.Arrays.binarySearch(numbers, number);
        return place < 0 ? -place - 1 : orEqual ? place + 1 : place;
    }

    private static JsonNode parsed(String text) {
        try {
            JsonNode found = JSON.readTree(text);
            return found != null && found.isObject() ? found : null;
        } catch (java.io.IOException unreadable) {
            return null;
        }
    }

    private static Column column(JsonNode index) {
        if (index == null || !index.isObject()) {
            return null;
        }
        JsonNode version = index.get("v");
        if (version == null || !version.isInt() || version.intValue() != VERSION) {
            return null;
        }
        Column found = new Column();
        Iterator names = index.fieldNames();
        while (names.hasNext()) {
            String name = (String) names.next();
            JsonNode value = index.get(name);
            if (name.equals("null") || name.equals("exact")) {
                if (!value.isBoolean()) {
                    return null;
                }
                found.hasNull = found.hasNull || (name.equals("null") && value.booleanValue());
            } else if (name.equals("re") && value.isTextual()) {
                found.texts = new Automata(value.textValue());
            } else if (name.equals("type") && value.isTextual()) {
                found.type = value.textValue();
            } else if (name.equals("in") && value.isArray()) {
                found.bounds = bounds(value);
            } else if (!name.equals("v")) {
                return null;
            }
        }
        boolean isText = found.texts != null && found.type == null && found.bounds == null;
        boolean isNumber = found.texts == null && found.type != null && found.bounds != null;
        return isText || isNumber ? found : null;
    }

    /** @throws Automata.Doubt they are not pairs that rise */
    private static long[] bounds(JsonNode list) {
        long[] found = new long[list.size()];
        for (int n = 0; n < found.length; n++) {
            JsonNode one = (JsonNode) list.get(n);
            if (!one.isIntegralNumber() || !one.canConvertToLong()
                    || (n > 0 && one.longValue() < found[n - 1])) {
                throw new Automata.Doubt("bounds that are no rising numbers");
            }
            found[n] = one.longValue();
        }
        if (found.length % 2 != 0) {
            throw new Automata.Doubt("a bound without its end");
        }
        return found;
    }
}
