import java.io.File;
import java.io.FileOutputStream;
import java.util.Iterator;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.codehaus.janino.SimpleCompiler;

/** Compiles a Java file into a jar with Janino: a machine that only runs Java has no javac. */
public class CompileToJar {

    /** @param args the Java file, and the jar to write */
    public static void main(String[] args) throws Exception {
        SimpleCompiler compiler = new SimpleCompiler();
        compiler.setTargetVersion(8);
        compiler.cookFile(new File(args[0]));
        JarOutputStream jar = new JarOutputStream(new FileOutputStream(args[1]));
        try {
            Iterator classes = compiler.getBytecodes().entrySet().iterator();
            while (classes.hasNext()) {
                Map.Entry one = (Map.Entry) classes.next();
                jar.putNextEntry(new JarEntry(((String) one.getKey()).replace('.', '/') + ".class"));
                jar.write((byte[]) one.getValue());
                jar.closeEntry();
            }
        } finally {
            jar.close();
        }
    }
}
