import java.io.File;
import java.io.FileOutputStream;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import org.codehaus.janino.SimpleCompiler;

/** Compiles Java files into a jar with Janino: a machine that only runs Java has no javac. */
public class CompileToJar {

    /** @param args the jar to write, and the Java files; each may use those before it */
    public static void main(String[] args) throws Exception {
        JarOutputStream jar = new JarOutputStream(new FileOutputStream(args[0]));
        try {
            ClassLoader before = CompileToJar.class.getClassLoader();
            for (int n = 1; n < args.length; n++) {
                SimpleCompiler compiler = new SimpleCompiler();
                compiler.setTargetVersion(8);
                compiler.setParentClassLoader(before);
                compiler.cookFile(new File(args[n]));
                before = compiler.getClassLoader();
                for (Object each : compiler.getBytecodes().entrySet()) {
                    Map.Entry one = (Map.Entry) each;
                    jar.putNextEntry(new JarEntry(((String) one.getKey()).replace('.', '/') + ".class"));
                    jar.write((byte[]) one.getValue());
                    jar.closeEntry();
                }
            }
        } finally {
            jar.close();
        }
    }
}
