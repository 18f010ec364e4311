package alluvium;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.orc.OrcFile;
import org.apache.orc.Reader;
import org.apache.orc.TypeDescription;
import org.apache.parquet.format.converter.ParquetMetadataConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.execution.datasources.orc.OrcUtils;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.execution.datasources.parquet.ParquetToSparkSchemaConverter;
import org.apache.spark.sql.execution.datasources.parquet.SparkToParquetSchemaConverter;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The schema of a Parquet or ORC file, as Spark reads it. Null for a file that cannot be read.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class FileSchemas implements UDF1 {

    private final SerializableConfiguration conf;
    private final boolean isOrc;

    public FileSchemas(Configuration conf, boolean isOrc) {
        this.conf = new SerializableConfiguration(conf);
        this.isOrc = isOrc;
    }

    public Object call(Object path) {
        try {
            Path file = new Path((String) path);
            return isOrc ? orc(file) : parquet(file);
        } catch (Exception unreadable) {
            return null;
        }
    }

    private Row orc(Path file) throws IOException {
        Reader reader = OrcFile.createReader(file, OrcFile.readerOptions(conf.value()));
        try {
            TypeDescription read = reader.getSchema();
            StructType schema = read.getFieldNames().isEmpty() ? new StructType() : OrcUtils.toCatalystSchema(read);
            // Whether days before 1582-10-15 are Gregorian, though the file does not say so. Only Java's writers had Julian ones.
            boolean isProleptic = !reader.getFileTail().getFooter().hasCalendar()
                && reader.getWriterVersion().getWriterImplementation() != OrcFile.WriterImplementation.ORC_JAVA;
            return row(schema, new HashMap(), new HashMap(), isProleptic);
        } finally {
            reader.close();
        }
    }

    private Row parquet(Path file) throws IOException {
        FileMetaData read = ParquetFileReader.readFooter(conf.value(), file, ParquetMetadataConverter.SKIP_ROW_GROUPS).getFileMetaData();
        Map unread = new HashMap();
        Map nanos = new HashMap();
        Map noted = noted((String) read.getKeyValueMetaData().get(ParquetReadSupport.SPARK_METADATA_KEY()));
        ParquetToSparkSchemaConverter converter = new ParquetToSparkSchemaConverter(SQLConf.get());
        StructType schema = new StructType();
        List fields = read.getSchema().getFields();
        for (int n = 0; n < fields.size(); n++) {
            Type field = (Type) fields.get(n);
            if (field.isPrimitive() && isNanos(field)) {
                TimestampLogicalTypeAnnotation kind = (TimestampLogicalTypeAnnotation) field.getLogicalTypeAnnotation();
                nanos.put(field.getName(), Boolean.valueOf(kind.isAdjustedToUTC()));
                schema = schema.add(field.getName(), DataTypes.LongType, true);
            } else if (!isRead(field)) {
                unread.put(field.getName(), field.isPrimitive() ? named(field) : "group with times in nanoseconds or times of day");
            } else if (noted.containsKey(field)) {
                schema = schema.add((StructField) noted.get(field));
            } else {
                try {
                    Type[] alone = new Type[] {field};
                    schema = schema.add(converter.convert(new MessageType("file", alone)).apply(0));
                } catch (Exception unknown) {
                    unread.put(field.getName(), named(field));
                }
            }
        }
        return row(schema, unread, nanos, false);
    }

    /**
     * The columns of Spark's note, by what Spark writes of them. It knows more kinds than Parquet has.
     * Other writers copy the note from a file to another that has other columns.
     */
    private static Map noted(String note) {
        Map found = new HashMap();
        StructField[] fields = note == null ? new StructField[0] : ((StructType) StructType.fromJson(note)).fields();
        SparkToParquetSchemaConverter converter = new SparkToParquetSchemaConverter(SQLConf.get());
        for (int n = 0; n < fields.length; n++) {
            try {
                found.put(converter.convert(new StructType().add(fields[n])).getType(0), fields[n]);
            } catch (Exception unknown) {
                // The file's own column says what it is.
            }
        }
        return found;
    }

    private static boolean isNanos(Type field) {
        LogicalTypeAnnotation kind = field.getLogicalTypeAnnotation();
        return kind instanceof TimestampLogicalTypeAnnotation
            && ((TimestampLogicalTypeAnnotation) kind).getUnit() == TimeUnit.NANOS;
    }

    /** False for times of day and in nanoseconds: of the one Spark knows the schema, and reads no value. */
    private static boolean isRead(Type field) {
        if (field.isPrimitive()) {
            return !isNanos(field) && !(field.getLogicalTypeAnnotation() instanceof TimeLogicalTypeAnnotation);
        }
        List inside = ((GroupType) field).getFields();
        for (int n = 0; n < inside.size(); n++) {
            if (!isRead((Type) inside.get(n))) {
                return false;
            }
        }
        return true;
    }

    private static String named(Type field) {
        LogicalTypeAnnotation kind = field.getLogicalTypeAnnotation();
        String stored = field.isPrimitive() ? field.asPrimitiveType().getPrimitiveTypeName().toString() : "group";
        return kind == null ? stored : stored + " (" + kind + ")";
    }

    private static Row row(StructType schema, Map unread, Map nanos, boolean isProleptic) {
        return RowFactory.create(new Object[] {schema.json(), unread, nanos, Boolean.valueOf(isProleptic)});
    }
}
