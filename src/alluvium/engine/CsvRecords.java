package alluvium;

import com.univocity.parsers.common.TextParsingException;
import com.univocity.parsers.csv.CsvParser;
import com.univocity.parsers.csv.CsvParserSettings;
import com.univocity.parsers.csv.UnescapedQuoteHandling;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.csv.CSVOptions;
import org.apache.spark.sql.types.DataTypes;

/**
 * Tells which lines of a CSV file are records, and which are parts of one: a quote that a line opens
 * may be closed in a later one. Spark's own parser says where quotes open and close.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class CsvRecords implements MapPartitionsFunction {

    /** So many bytes of lines are in memory while the end of a record is looked for. */
    private static final int LONGEST = 1 << 24;
    /** A value put behind a line: it is a part of the last one where a quote is open. Private use. */
    private static final String NEXT = "\uE8A1\uE8A2\uE8A3";

    private static final int OPEN = 0;
    private static final int CLOSED = 1;
    /** Closed, and not as a quote is closed by the options. */
    private static final int BROKEN = 2;

    private final CSVOptions options;
    private final boolean joins;

    private CsvRecords(CSVOptions options, boolean joins) {
        this.options = options;
        this.joins = joins;
    }

    /**
     * The records with a fifth column: `whole`, false for a record whose quotes do not close or that
     * is beyond a limit of the options, and for each part of a record that spans lines.
     *
     * @param lines `value` in bytes, `place` in the file, `url` of the file, `time`; one file to a
     *     partition, in its order. Values end with the carriage return of CRLF, records without
     * @param joins whether a record may span lines; otherwise each line stays for itself
     */
    public static Dataset of(Dataset lines, CSVOptions options, boolean joins) {
        MapPartitionsFunction records = new CsvRecords(options, joins);
        return lines.mapPartitions(
            records, Encoders.row(lines.schema().add("whole", DataTypes.BooleanType, false)));
    }

    public Iterator call(Iterator lines) {
        return new Records(lines, options, joins);
    }

    /** Small: of a large file with an open quote many are in memory. */
    private static final class Line {
        final byte[] value;
        final long place;

        Line(byte[] value, long place) {
            this.value = value;
            this.place = place;
        }
    }

    private static final class Records implements Iterator {

        private final Iterator lines;
        private final boolean joins;
        private final CsvParser parser;
        private final CsvParser strict;
        /** As Spark's own: with its limits. */
        private final CsvParser limited;
        /** So many bytes are within each limit. */
        private final long small;
        private final String quote;
        private final String comment;
        private final String next;
        /** A row of the file, for what is the same in all of them. */
        private Row row;
        /** Lines that were read to find the end of a record, and are looked at once more. */
        private final ArrayDeque again = new ArrayDeque();
        /** One of them that is no record: it has the end of a quote, and goes on as no end does. */
        private Line broken;
        private final ArrayDeque ready = new ArrayDeque();

        Records(Iterator lines, CSVOptions options, boolean joins) {
            this.lines = lines;
            this.joins = joins;
            limited = new CsvParser(options.asParserSettings());
            int longest = options.maxCharsPerColumn();
            small = longest < 0 ? options.maxColumns() : Math.min(options.maxColumns(), longest);
            // NEXT stands behind what the limits are for.
            CsvParserSettings settings = options.asParserSettings();
            settings.setMaxColumns(options.maxColumns() + 1);
            settings.setMaxCharsPerColumn(-1);
            parser = new CsvParser(settings);
            settings.setUnescapedQuoteHandling(UnescapedQuoteHandling.RAISE_ERROR);
            strict = new CsvParser(settings);
            quote = String.valueOf(options.quote());
            comment = options.isCommentSet() ? String.valueOf(options.comment()) : null;
            next = options.delimiter() + NEXT;
        }

        public boolean hasNext() {
            return !ready.isEmpty() || hasLine();
        }

        public Object next() {
            if (ready.isEmpty()) {
                read();
            }
            return ready.removeFirst();
        }

        private boolean hasLine() {
            return !again.isEmpty() || lines.hasNext();
        }

        private Line line() {
            if (!again.isEmpty()) {
                return (Line) again.removeFirst();
            }
            row = (Row) lines.next();
            return new Line((byte[]) row.get(0), row.getLong(1));
        }

        private void read() {
            Line first = line();
            if (first == broken || !opens(first)) {
                give(first, first.value, first != broken);
                return;
            }
            List record = new ArrayList();
            record.add(first);
            int state = OPEN;
            long size = first.value.length;
            while (state == OPEN && size <= LONGEST && hasLine()) {
                Line more = line();
                record.add(more);
                size += more.value.length + 1;
                state = behind(more);
            }
            if (joins) {
                if (state == OPEN && size > LONGEST) {
                    throw new IllegalStateException("the quote that line " + (first.place + 1) + " of "
                        + row.getString(2) + " opens is not closed within " + (LONGEST >> 20)
                        + " MiB. Close it there, or take the file away");
                }
                give(first, joined(record), state == CLOSED);
            } else if (state != CLOSED) {
                // Nothing closes it: the lines behind it are no part of it. Of a line that seems to
                // nobody can tell.
                give(first, first.value, false);
                broken = state == BROKEN ? (Line) record.get(record.size() - 1) : null;
                for (int n = record.size() - 1; n > 0; n--) {
                    again.addFirst(record.get(n));
                }
            } else {
                for (int n = 0; n < record.size(); n++) {
                    Line part = (Line) record.get(n);
                    give(part, part.value, false);
                }
            }
        }

        private void give(Line line, byte[] value, boolean whole) {
            ready.add(RowFactory.create(new Object[] {
                Arrays.copyOf(value, end(value)), Long.valueOf(line.place), row.get(2), row.get(3),
                Boolean.valueOf(whole && isWithinLimits(value))
            }));
        }

        /** Whether Spark's parser takes a record: beyond a limit it would stop the run. */
        private boolean isWithinLimits(byte[] value) {
            if (value.length < small) {
                return true;
            }
            try {
                limited.parseLine(new String(value, 0, end(value), StandardCharsets.UTF_8));
                return true;
            } catch (TextParsingException refused) {
                return false;
            }
        }

        /** Whether a quote is open at the end of a line that begins a record. */
        private boolean opens(Line line) {
            String text = text(line);
            if (text == null || comment != null && text.startsWith(comment)) {
                return false;
            }
            try {
                return goesOn(text);
            } catch (TextParsingException refused) {
                return false;
            }
        }

        /** What a line does that begins inside quotes. */
        private int behind(Line line) {
            String text = text(line);
            if (text == null) {
                return OPEN;
            }
            text = quote + "x\n" + text;
            try {
                if (goesOn(text)) {
                    return OPEN;
                }
                strict.parseLine(text + next);
                return CLOSED;
            } catch (TextParsingException refused) {
                return BROKEN;
            }
        }

        private boolean goesOn(String text) {
            // To its end: the parser keeps what it did not read, for the next line.
            String[] values = parser.parseLine(text + next);
            String last = values[values.length - 1];
            return last != null && last.length() > NEXT.length();
        }

        /** The text of a line; null where it has no quote, or no character is one. */
        private String text(Line line) {
            byte[] bytes = line.value;
            char sign = quote.charAt(0);
            boolean found = sign > 127;
            for (int n = 0; n < bytes.length && sign != 0 && !found; n++) {
                found = bytes[n] == sign;
            }
            return found ? new String(bytes, 0, end(bytes), StandardCharsets.UTF_8) : null;
        }

        private static byte[] joined(List record) {
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            for (int n = 0; n < record.size(); n++) {
                if (n > 0) {
                    all.write('\n');
                }
                byte[] part = ((Line) record.get(n)).value;
                all.write(part, 0, part.length);
            }
            return all.toByteArray();
        }

        /** Where a line ends: the carriage return of CRLF ends it as the newline does. */
        private static int end(byte[] line) {
            return line.length > 0 && line[line.length - 1] == '\r' ? line.length - 1 : line.length;
        }
    }
}
