package alluvium;

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.ColumnReader;
import org.apache.parquet.column.Dictionary;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.column.EncodingStats;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.DictionaryPage;
import org.apache.parquet.column.page.DictionaryPageReadStore;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.io.api.GroupConverter;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;

/**
 * The distinct values of columns of Parquet files. Where a column's pages have a dictionary it
 * alone is read: a few kilobytes, whatever the file has.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class ParquetValues {

    private static final int UNKNOWN = 0;
    private static final int TEXTS = 1;
    private static final int NUMBERS = 2;

    private final Configuration conf;
    private final int threads;
    private final int mostValues;
    private final long mostBytes;

    /**
     * @param threads files that are read at a time
     * @param mostValues distinct values of a column and file; it is unknown if it has more
     * @param mostBytes of a column without a dictionary, in one file, that are read
     */
    public ParquetValues(Configuration conf, int threads, int mostValues, long mostBytes) {
        this.conf = conf;
        this.threads = threads;
        this.mostValues = mostValues;
        this.mostBytes = mostBytes;
    }

    /**
     * For each file, for each column: a byte (0: nothing is known; 1: texts; 2: numbers), whether it
     * may have NULLs (a byte), the number of values, and these: of texts first all lengths in bytes.
     * All numbers are big-endian.
     *
     * @param uris of the files
     * @param columns their names in the files, none nested
     */
    public byte[] read(List uris, final List columns) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        try {
            List due = new ArrayList();
            for (int place = 0; place < uris.size(); place++) {
                final String uri = (String) uris.get(place);
                due.add(new Callable() {
                    public Object call() {
                        try {
                            return file(uri, columns);
                        } catch (Exception damaged) {
                            // Of a file that cannot be read nothing is known.
                            return new byte[columns.size()];
                        }
                    }
                });
            }
            ByteArrayOutputStream all = new ByteArrayOutputStream();
            List done = pool.invokeAll(due);
            for (int place = 0; place < done.size(); place++) {
                all.write((byte[]) ((Future) done.get(place)).get());
            }
            return all.toByteArray();
        } finally {
            pool.shutdownNow();
        }
    }

    byte[] file(String uri, List columns) throws Exception {
        HadoopInputFile input = HadoopInputFile.fromPath(new Path(new URI(uri)), conf);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream written = new DataOutputStream(bytes);
        ParquetFileReader reader = ParquetFileReader.open(input, HadoopReadOptions.builder(conf).build());
        try {
            for (int place = 0; place < columns.size(); place++) {
                column(reader, (String) columns.get(place), written);
            }
        } finally {
            reader.close();
        }
        return bytes.toByteArray();
    }

    private void column(ParquetFileReader reader, String name, DataOutputStream written) throws IOException {
        MessageType schema = reader.getFileMetaData().getSchema();
        String[] path = new String[] {name};
        if (!schema.containsField(name) || !isRead(schema.getType(path))) {
            written.writeByte(UNKNOWN);
            return;
        }
        ColumnDescriptor column = schema.getColumnDescription(path);
        List chunks = new ArrayList();
        long size = 0;
        boolean nulls = false;
        boolean dictionaries = true;
        List blocks = reader.getRowGroups();
        for (int block = 0; block < blocks.size(); block++) {
            ColumnChunkMetaData chunk = chunk((BlockMetaData) blocks.get(block), name);
            chunks.add(chunk);
            size += chunk.getTotalUncompressedSize();
            dictionaries &= hasAllInDictionary(chunk);
            Statistics statistics = chunk.getStatistics();
            // Unknown is kept: more values than there are do no harm.
            boolean none = statistics != null && statistics.isNumNullsSet() && statistics.getNumNulls() == 0;
            nulls |= chunk.getValueCount() > 0 && !none;
        }
        Set found = new HashSet();
        boolean read = false;
        if (dictionaries) {
            read = fromDictionaries(reader, blocks, column, found);
        } else if (size <= mostBytes) {
            read = fromPages(reader, blocks, column, found);
        }
        if (!read) {
            written.writeByte(UNKNOWN);
            return;
        }
        boolean texts = column.getPrimitiveType().getPrimitiveTypeName() == PrimitiveType.PrimitiveTypeName.BINARY;
        written.writeByte(texts ? TEXTS : NUMBERS);
        written.writeByte(nulls && column.getMaxDefinitionLevel() > 0 ? 1 : 0);
        written.writeInt(found.size());
        if (texts) {
            List values = new ArrayList(found);
            for (int place = 0; place < values.size(); place++) {
                written.writeInt(((Binary) values.get(place)).length());
            }
            for (int place = 0; place < values.size(); place++) {
                written.write(((Binary) values.get(place)).getBytes());
            }
        } else {
            for (Iterator values = found.iterator(); values.hasNext(); ) {
                written.writeLong(((Long) values.next()).longValue());
            }
        }
    }

    /** Whether values of the type are texts, whole numbers, days or booleans. */
    private static boolean isRead(Type type) {
        if (!type.isPrimitive() || type.isRepetition(Type.Repetition.REPEATED)) {
            return false;
        }
        PrimitiveType.PrimitiveTypeName kind = type.asPrimitiveType().getPrimitiveTypeName();
        LogicalTypeAnnotation means = type.getLogicalTypeAnnotation();
        if (kind == PrimitiveType.PrimitiveTypeName.BINARY) {
            return means == null || means instanceof LogicalTypeAnnotation.StringLogicalTypeAnnotation;
        }
        if (kind == PrimitiveType.PrimitiveTypeName.INT32 || kind == PrimitiveType.PrimitiveTypeName.INT64) {
            return means == null
                    || means instanceof LogicalTypeAnnotation.DateLogicalTypeAnnotation
                    || (means instanceof LogicalTypeAnnotation.IntLogicalTypeAnnotation
                            && ((LogicalTypeAnnotation.IntLogicalTypeAnnotation) means).isSigned());
        }
        return kind == PrimitiveType.PrimitiveTypeName.BOOLEAN;
    }

    private static ColumnChunkMetaData chunk(BlockMetaData block, String name) {
        List chunks = block.getColumns();
        for (int place = 0; place < chunks.size(); place++) {
            ColumnChunkMetaData chunk = (ColumnChunkMetaData) chunks.get(place);
            String[] path = chunk.getPath().toArray();
            if (path.length == 1 && path[0].equals(name)) {
                return chunk;
            }
        }
        throw new IllegalStateException(name);
    }

    /** Whether every value of the chunk is in its dictionary: writers give up large ones halfway. */
    private static boolean hasAllInDictionary(ColumnChunkMetaData chunk) {
        EncodingStats statistics = chunk.getEncodingStats();
        if (statistics != null) {
            return statistics.hasDictionaryPages() && !statistics.hasNonDictionaryEncodedPages();
        }
        Set encodings = new HashSet(chunk.getEncodings());
        boolean has = encodings.remove(Encoding.PLAIN_DICTIONARY);
        encodings.remove(Encoding.RLE);
        encodings.remove(Encoding.BIT_PACKED);
        return has && encodings.isEmpty();
    }

    private boolean fromDictionaries(ParquetFileReader reader, List blocks, ColumnDescriptor column, Set found)
            throws IOException {
        PrimitiveType.PrimitiveTypeName kind = column.getPrimitiveType().getPrimitiveTypeName();
        for (int block = 0; block < blocks.size(); block++) {
            if (((BlockMetaData) blocks.get(block)).getRowCount() == 0) {
                continue;
            }
            DictionaryPageReadStore store = reader.getDictionaryReader((BlockMetaData) blocks.get(block));
            DictionaryPage page = store == null ? null : store.readDictionaryPage(column);
            if (page == null) {
                return false;
            }
            Dictionary dictionary = page.getEncoding().initDictionary(column, page);
            for (int id = 0; id <= dictionary.getMaxId(); id++) {
                if (kind == PrimitiveType.PrimitiveTypeName.BINARY) {
                    found.add(dictionary.decodeToBinary(id));
                } else if (kind == PrimitiveType.PrimitiveTypeName.INT32) {
                    found.add(Long.valueOf((long) dictionary.decodeToInt(id)));
                } else {
                    found.add(Long.valueOf(dictionary.decodeToLong(id)));
                }
            }
            if (found.size() > mostValues) {
                return false;
            }
        }
        return true;
    }

    private boolean fromPages(ParquetFileReader reader, List blocks, ColumnDescriptor column, Set found)
            throws IOException {
        PrimitiveType.PrimitiveTypeName kind = column.getPrimitiveType().getPrimitiveTypeName();
        MessageType wanted = new MessageType("wanted", new Type[] {column.getPrimitiveType()});
        GroupConverter ignored = new GroupRecordConverter(wanted).getRootConverter();
        reader.setRequestedSchema(wanted);
        String writer = reader.getFileMetaData().getCreatedBy();
        for (int block = 0; block < blocks.size(); block++) {
            if (((BlockMetaData) blocks.get(block)).getRowCount() == 0) {
                continue;
            }
            PageReadStore pages = reader.readRowGroup(block);
            ColumnReadStoreImpl store = new ColumnReadStoreImpl(pages, ignored, wanted, writer);
            ColumnReader values = store.getColumnReader(column);
            for (long left = values.getTotalValueCount(); left > 0; left--) {
                if (values.getCurrentDefinitionLevel() == column.getMaxDefinitionLevel()) {
                    if (kind == PrimitiveType.PrimitiveTypeName.BINARY) {
                        found.add(values.getBinary().copy());
                    } else if (kind == PrimitiveType.PrimitiveTypeName.INT32) {
                        found.add(Long.valueOf((long) values.getInteger()));
                    } else if (kind == PrimitiveType.PrimitiveTypeName.INT64) {
                        found.add(Long.valueOf(values.getLong()));
                    } else {
                        found.add(Long.valueOf(values.getBoolean() ? 1L : 0L));
                    }
                    if (found.size() > mostValues) {
                        return false;
                    }
                }
                values.consume();
            }
        }
        return true;
    }
}
