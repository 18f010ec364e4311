package alluvium;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Why a file in Hadoop's blocks (Snappy, LZ4) cannot be read to its end; null for one that can.
 *
 * <p>Hadoop says nothing where such a file is cut off, or where it is one of the tools that do not
 * know Hadoop's blocks: it gives what was whole until there, often nothing.
 *
 * <p>Written for Janino, as ExclusiveLogStore is: no lambdas, no use of type arguments.
 */
public class BlockFiles implements UDF1 {

    private static final String OTHER = "is not in Hadoop's blocks, or is cut off";

    private final SerializableConfiguration conf;

    public BlockFiles(Configuration conf) {
        this.conf = new SerializableConfiguration(conf);
    }

    public Object call(Object path) throws IOException {
        Path file = new Path((String) path);
        CompressionCodec codec = new CompressionCodecFactory(conf.value()).getCodec(file);
        Decompressor decompressor = CodecPool.getDecompressor(codec);
        DataInputStream in = new DataInputStream(
            new BufferedInputStream(file.getFileSystem(conf.value()).open(file), 1 << 16));
        try {
            look(in, decompressor, file.getFileSystem(conf.value()).getFileStatus(file).getLen());
            return null;
        } catch (EOFException end) {
            return OTHER;
        } catch (IOException wrong) {
            return wrong.getMessage();
        } finally {
            in.close();
            CodecPool.returnDecompressor(decompressor);
        }
    }

    private static void look(DataInputStream in, Decompressor decompressor, long bytes) throws IOException {
        byte[] out = new byte[1 << 16];
        for (int first = in.read(); first >= 0; first = in.read()) {
            // The bytes of a block before it was compressed; its chunks follow.
            int left = first << 24 | in.readUnsignedByte() << 16 | in.readUnsignedShort();
            if (left == 0 && in.read() >= 0) {
                throw new IOException("has more behind an empty block, where Hadoop stops");
            }
            while (left > 0) {
                int length = in.readInt();
                if (length <= 0 || length > bytes) {
                    throw new EOFException();
                }
                byte[] chunk = new byte[length];
                in.readFully(chunk);
                decompressor.reset();
                decompressor.setInput(chunk, 0, length);
                for (int made = decompressor.decompress(out, 0, out.length); made > 0;
                        made = decompressor.decompress(out, 0, out.length)) {
                    left -= made;
                }
            }
            if (left < 0) {
                throw new EOFException();
            }
        }
    }
}
