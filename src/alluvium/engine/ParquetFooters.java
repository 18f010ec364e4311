package alluvium;

import java.io.ByteArrayInputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.Util;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.util.SerializableConfiguration;

/**
 * What the footer of a Parquet file says, read where Spark's tasks run. Each file is opened once.
 *
 * <p>Null for a file that is gone, and for one that is no whole Parquet file or is encrypted.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class ParquetFooters implements UDF2 {

    /** Bytes of a file's end that are read at first. */
    private static final int TAIL = 32768;
    /** The length of the footer, and the magic number. */
    private static final int END = 8;

    private final SerializableConfiguration conf;

    public ParquetFooters(Configuration conf) {
        this.conf = new SerializableConfiguration(conf);
    }

    /** @param location of the file, as a URI; size in bytes */
    public Object call(Object location, Object size) throws Exception {
        Path path = new Path(new URI((String) location));
        long length = ((Long) size).longValue();
        FSDataInputStream stream;
        try {
            stream = path.getFileSystem(conf.value()).open(path);
        } catch (FileNotFoundException gone) {
            return null;
        }
        try {
            byte[] tail = last(stream, length, TAIL);
            int end = tail.length - END;
            if (end < 0 || tail[end + 4] != 'P' || tail[end + 5] != 'A' || tail[end + 6] != 'R' || tail[end + 7] != '1') {
                return null;
            }
            int footer = (tail[end] & 255) | (tail[end + 1] & 255) << 8 | (tail[end + 2] & 255) << 16 | (tail[end + 3] & 255) << 24;
            if (footer < 0 || footer > length - END) {
                return null;
            }
            if (footer > end) {
                tail = last(stream, length, footer + END);
                end = tail.length - END;
            }
            FileMetaData read;
            try {
                read = Util.readFileMetaData(new ByteArrayInputStream(tail, end - footer, footer));
            } catch (IOException damaged) {
                return null;
            }
            return row(read);
        } catch (EOFException shorter) {
            return null;
        } finally {
            stream.close();
        }
    }

    private static byte[] last(FSDataInputStream stream, long length, int count) throws IOException {
        byte[] bytes = new byte[(int) Math.min(length, (long) count)];
        stream.readFully(length - bytes.length, bytes);
        return bytes;
    }

    private static Row row(FileMetaData footer) {
        List groups = footer.getRow_groups();
        TreeSet codecs = new TreeSet();
        List names = new ArrayList();
        long[] stored = new long[0];
        long[] plain = new long[0];
        long total = 0;
        for (int g = 0; g < groups.size(); g++) {
            List chunks = ((RowGroup) groups.get(g)).getColumns();
            if (g == 0) {
                stored = new long[chunks.size()];
                plain = new long[chunks.size()];
            }
            for (int c = 0; c < chunks.size(); c++) {
                ColumnMetaData column = ((ColumnChunk) chunks.get(c)).getMeta_data();
                if (g == 0) {
                    names.add(String.join(".", (Iterable) column.getPath_in_schema()));
                }
                codecs.add(column.getCodec().toString().toLowerCase());
                stored[c] += column.getTotal_compressed_size();
                plain[c] += column.getTotal_uncompressed_size();
                total += column.getTotal_uncompressed_size();
            }
        }
        List columns = new ArrayList();
        for (int c = 0; c < names.size(); c++) {
            columns.add(RowFactory.create(new Object[] {names.get(c), Long.valueOf(stored[c]), Long.valueOf(plain[c])}));
        }
        return RowFactory.create(new Object[] {
            Long.valueOf(footer.getNum_rows()),
            Long.valueOf(groups.size()),
            Long.valueOf(total),
            codecs.isEmpty() ? null : String.join(", ", (Iterable) codecs),
            columns
        });
    }
}
