import java.io.File;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import org.codehaus.janino.SimpleCompiler;

/**
 * Prints the members of classes, a line each: the class, a tab, and the member as `alluvium.engine.internals` has it.
 *
 * <p>Methods of the instances of a class begin with `#`.
 *
 * <p>What cannot be compiled or found has one line, with an exclamation mark; what can, an empty one.
 */
public class Members {

    /** @param args Java files, each of which may use those before it, and names of classes */
    public static void main(String[] args) {
        ClassLoader known = Members.class.getClassLoader();
        for (int n = 0; n < args.length; n++) {
            try {
                if (args[n].endsWith(".java")) {
                    SimpleCompiler compiler = new SimpleCompiler();
                    compiler.setTargetVersion(8);
                    compiler.setParentClassLoader(known);
                    compiler.cookFile(new File(args[n]));
                    known = compiler.getClassLoader();
                } else {
                    print(args[n], Class.forName(args[n], false, known));
                }
                System.out.println(args[n] + "\t");
            } catch (Throwable problem) {
                System.out.println(args[n] + "\t!" + problem.toString().replace('\n', ' '));
            }
        }
    }

    private static void print(String name, Class found) {
        Constructor[] constructors = found.getConstructors();
        for (int n = 0; n < constructors.length; n++) {
            print(name, "new", constructors[n].getParameterTypes());
        }
        // Of a Scala `object` the methods are those of its one instance.
        boolean isObject = name.endsWith("$");
        Method[] methods = found.getMethods();
        for (int n = 0; n < methods.length; n++) {
            boolean isAsked = Modifier.isStatic(methods[n].getModifiers()) != isObject;
            print(name, (isAsked ? "" : "#") + methods[n].getName(), methods[n].getParameterTypes());
        }
        Field[] fields = found.getFields();
        for (int n = 0; n < fields.length; n++) {
            System.out.println(name + "\t" + fields[n].getName());
        }
    }

    private static void print(String name, String member, Class[] parameters) {
        String types = "";
        for (int n = 0; n < parameters.length; n++) {
            String type = parameters[n].getTypeName();
            types += (n == 0 ? "" : ", ") + type.substring(type.lastIndexOf('.') + 1);
        }
        System.out.println(name + "\t" + member + "(" + types + ")");
    }
}
