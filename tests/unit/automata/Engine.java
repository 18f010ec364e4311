import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.regex.*;

/**
 * Answers of Java's engine. Reads lines of hexadecimal UTF-8: `p` and a pattern, `v` and a value.
 * Writes two signs a value: 1 if it matches, and 1 if a word that begins with it may.
 */
class Engine {
  public static void main(String[] arguments) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    StringBuilder answers = new StringBuilder();
    Pattern pattern = null;
    for (String line; (line = lines.readLine()) != null; ) {
      byte[] bytes = HexFormat.of().parseHex(line.substring(1));
      String text = new String(bytes, StandardCharsets.UTF_8);
      if (line.charAt(0) == 'p') {
        pattern = Pattern.compile(text);
      } else {
        Matcher matcher = pattern.matcher(text);
        boolean matches = matcher.matches();
        answers.append(matches ? '1' : '0').append(matches || matcher.hitEnd() ? '1' : '0');
      }
    }
    System.out.print(answers);
  }
}
