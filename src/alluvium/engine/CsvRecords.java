package alluvium;

import com.univocity.parsers.common.TextParsingException;
import com.univocity.parsers.csv.CsvParser;
import com.univocity.parsers.csv.CsvParserSettings;
import com.univocity.parsers.csv.UnescapedQuoteHandling;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
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
        /**
         * Lines that were read to find the end of a record, each with its newline; an object for
         * each would be many times as large where they are short. The next one begins at `at`, the
         * one that is looked at at `seen`, and they end at `filled`.
         */
        private byte[] ahead = new byte[1 << 12];
        private int at;
        private int seen;
        private int filled;
        /** The place of the line before `at`; they follow one another. */
        private long place = -1;
        /** The place of one that is no record: it has the end of a quote, and goes on as no end does. */
        private long broken = -1;
        /** Up to this place lines are parts of a record that was found. */
        private long parts = -1;

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
            return at < filled || lines.hasNext();
        }

        public Object next() {
            Line first = line();
            if (first.place <= parts || first.place == broken) {
                return record(first, first.value, false);
            }
            if (!opens(first)) {
                return record(first, first.value, true);
            }
            int state = OPEN;
            long size = first.value.length;
            long last = first.place;
            seen = at;
            while (state == OPEN && size <= LONGEST && (seen < filled || lines.hasNext())) {
                byte[] more = look();
                last++;
                size += more.length + 1;
                state = behind(more);
            }
            if (!joins) {
                if (state == CLOSED) {
                    parts = last;
                } else {
                    // The lines behind it are no part of it. Of one that seems to close it nobody
                    // can tell.
                    broken = state == BROKEN ? last : -1;
                }
                return record(first, first.value, false);
            }
            if (state == OPEN && size > LONGEST) {
                throw new IllegalStateException("the quote that line " + (first.place + 1) + " of "
                    + row.getString(2) + " opens is not closed within " + (LONGEST >> 20)
                    + " MiB. Close it there, or take the file away");
            }
            byte[] all = joined(first.value);
            at = seen;
            place = last;
            return record(first, all, state == CLOSED);
        }

        private Line line() {
            if (at == filled) {
                byte[] value = fetch();
                place = row.getLong(1);
                return new Line(value, place);
            }
            seen = at;
            byte[] value = look();
            at = seen;
            place++;
            return new Line(value, place);
        }

        /** The line at `seen`, which then is behind it. */
        private byte[] look() {
            if (seen == filled) {
                keep(fetch());
            }
            int end = seen;
            while (ahead[end] != '\n') {
                end++;
            }
            byte[] value = Arrays.copyOfRange(ahead, seen, end);
            seen = end + 1;
            return value;
        }

        private byte[] fetch() {
            row = (Row) lines.next();
            return (byte[]) row.get(0);
        }

        private void keep(byte[] value) {
            if (filled + value.length + 1 > ahead.length) {
                int kept = filled - at;
                int needed = 2 * kept + value.length + 1;
                byte[] room = needed > ahead.length ? new byte[needed] : ahead;
                System.arraycopy(ahead, at, room, 0, kept);
                ahead = room;
                seen -= at;
                filled = kept;
                at = 0;
            }
            System.arraycopy(value, 0, ahead, filled, value.length);
            filled += value.length;
            ahead[filled++] = '\n';
        }

        /** A line with those behind it that were looked at, without the newline of the last one. */
        private byte[] joined(byte[] first) {
            byte[] all = Arrays.copyOf(first, first.length + seen - at);
            if (seen > at) {
                all[first.length] = '\n';
                System.arraycopy(ahead, at, all, first.length + 1, seen - at - 1);
            }
            return all;
        }

        private Row record(Line first, byte[] value, boolean whole) {
            return RowFactory.create(new Object[] {
                Arrays.copyOf(value, end(value)), Long.valueOf(first.place), row.get(2), row.get(3),
                Boolean.valueOf(whole && isWithinLimits(value))
            });
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
            String text = text(line.value);
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
        private int behind(byte[] line) {
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
        private String text(byte[] bytes) {
            char sign = quote.charAt(0);
            boolean found = sign > 127;
            for (int n = 0; n < bytes.length && sign != 0 && !found; n++) {
                found = bytes[n] == sign;
            }
            return found ? new String(bytes, 0, end(bytes), StandardCharsets.UTF_8) : null;
        }

        /** Where a line ends: the carriage return of CRLF ends it as the newline does. */
        private static int end(byte[] line) {
            return line.length > 0 && line[line.length - 1] == '\r' ? line.length - 1 : line.length;
        }
    }
}
