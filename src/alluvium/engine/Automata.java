package alluvium;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;

/**
 * What the expression of an index says of texts. Anything that is not written there is refused.
 *
 * <p>Not Java's own engine: a text from elsewhere could make that take for ever, and it cannot list
 * the words. Here each part of an expression is looked at once, with all places that it may begin at.
 */
public final class Automata {

    /** An expression that no index has, or a question that takes too long: keep the file. */
    public static final class Doubt extends RuntimeException {
        Doubt(String reason) {
            super(reason);
        }
    }

    /** A set of characters so many times (`most` -1: any number), or one of several sequences. */
    private static final class Node {
        int[] chars;
        int least = 1;
        int most = 1;
        List ways;
    }

    private static final String NOTHING = "^(?!)$";
    private static final int DEEPEST = 200;
    private static final int MOST_WORDS = 256;
    private static final int MOST_CHARS = 16384;

    private final int[] text;
    private final Node root;
    private int place = 1;
    private long stepsLeft;
    private boolean askedBeyond;
    private List words;
    private boolean listed;

    /** @throws Doubt it is not an expression of an index */
    public Automata(String expression) {
        text = expression.codePoints().toArray();
        if (expression.equals(NOTHING)) {
            root = new Node();
            root.ways = new ArrayList();
            return;
        }
        if (text.length < 2 || text[0] != '^' || text[text.length - 1] != '$') {
            throw new Doubt("not anchored");
        }
        text[text.length - 1] = -1;
        root = choice(0);
        if (peek() != -1 || place != text.length - 1) {
            throw new Doubt("ends too early");
        }
    }

    /** Whether there is a word at all. */
    public boolean isEmpty() {
        return root.ways.isEmpty();
    }

    /** Whether it is a word; of a prefix: whether any word begins so. */
    public boolean accepts(int[] codes, boolean isPrefix) {
        stepsLeft = 100000L + 64L * codes.length;
        askedBeyond = false;
        BitSet start = new BitSet();
        start.set(0);
        BitSet reached = ends(root, codes, start);
        return reached.get(codes.length) || (isPrefix && askedBeyond);
    }

    /** All words; null if they are too many. */
    public List words() {
        if (!listed) {
            listed = true;
            stepsLeft = 4L * MOST_CHARS;
            words = count(root) <= MOST_WORDS ? all(root) : null;
        }
        return words;
    }

    private BitSet ends(Node node, int[] codes, BitSet places) {
        BitSet reached = new BitSet();
        if (node.ways == null) {
            int from = places.nextSetBit(0);
            while (from >= 0) {
                run(node, codes, from, reached);
                from = places.nextSetBit(from + 1);
            }
            return reached;
        }
        for (Object way : node.ways) {
            BitSet here = places;
            for (Object part : (List) way) {
                if (here.isEmpty()) {
                    break;
                }
                here = ends((Node) part, codes, here);
            }
            reached.or(here);
        }
        return reached;
    }

    private void run(Node node, int[] codes, int from, BitSet reached) {
        int taken = 0;
        while (node.most < 0 || taken < node.most) {
            step(1);
            if (taken >= node.least) {
                reached.set(from + taken);
            }
            if (from + taken == codes.length) {
                askedBeyond = true;
                return;
            }
            if (!has(node.chars, codes[from + taken])) {
                return;
            }
            taken++;
        }
        reached.set(from + taken);
    }

    private void step(long several) {
        stepsLeft -= several;
        if (stepsLeft < 0) {
            throw new Doubt("takes too long");
        }
    }

    private static boolean has(int[] chars, int code) {
        for (int n = 0; n < chars.length; n += 2) {
            if (chars[n] <= code && code <= chars[n + 1]) {
                return true;
            }
        }
        return false;
    }

    /** How many words, or some number above MOST_WORDS. */
    private static long count(Node node) {
        long total = 0;
        if (node.ways == null) {
            long several = 0;
            for (int n = 0; n < node.chars.length; n += 2) {
                several += node.chars[n + 1] - node.chars[n] + 1;
            }
            if (node.most >= 0 && several == 1) {
                return node.most - node.least + 1;
            }
            if (node.most < 0 || node.most > 64 || several > MOST_WORDS) {
                return MOST_WORDS + 1;
            }
            long power = 1;
            for (int length = 0; length <= node.most; length++) {
                total = Math.min(total + (length >= node.least ? power : 0), MOST_WORDS + 1);
                power = Math.min(power * several, MOST_WORDS + 1);
            }
            return total;
        }
        for (Object way : node.ways) {
            long product = 1;
            for (Object part : (List) way) {
                product = Math.min(product * count((Node) part), MOST_WORDS + 1);
            }
            total = Math.min(total + product, MOST_WORDS + 1);
        }
        return total;
    }

    private List all(Node node) {
        List found = new ArrayList();
        if (node.ways == null) {
            List longer = new ArrayList();
            longer.add("");
            for (int length = 0; length <= node.most; length++) {
                if (length >= node.least) {
                    found.addAll(longer);
                }
                if (length < node.most) {
                    longer = followed(longer, signs(node.chars));
                }
            }
            return found;
        }
        for (Object way : node.ways) {
            List longer = new ArrayList();
            longer.add("");
            for (Object part : (List) way) {
                longer = followed(longer, all((Node) part));
            }
            found.addAll(longer);
        }
        return found;
    }

    private static List signs(int[] chars) {
        List found = new ArrayList();
        for (int n = 0; n < chars.length; n += 2) {
            for (int code = chars[n]; code <= chars[n + 1]; code++) {
                found.add(new String(Character.toChars(code)));
            }
        }
        return found;
    }

    private List followed(List begins, List ends) {
        List found = new ArrayList();
        for (int n = 0; n < begins.size(); n++) {
            for (int m = 0; m < ends.size(); m++) {
                String word = (String) begins.get(n) + (String) ends.get(m);
                step(1 + word.length());
                found.add(word);
            }
        }
        return found;
    }

    private Node choice(int depth) {
        if (depth > DEEPEST) {
            throw new Doubt("nested too deep");
        }
        Node found = new Node();
        found.ways = new ArrayList();
        List way = new ArrayList();
        found.ways.add(way);
        while (peek() != -1 && peek() != ')') {
            if (peek() == '|') {
                place++;
                way = new ArrayList();
                found.ways.add(way);
            } else {
                way.add(part(depth));
            }
        }
        return found;
    }

    private Node part(int depth) {
        if (startsWith("(?s:.")) {
            place += 5;
            Node any = counted(new int[] {0, Character.MAX_CODE_POINT});
            expect(')');
            return any;
        }
        if (peek() == '(') {
            place++;
            Node inner = choice(depth + 1);
            expect(')');
            if (peek() == '?') {
                place++;
                inner.ways.add(new ArrayList());
            }
            return inner;
        }
        if (peek() == '[') {
            place++;
            return counted(ranges());
        }
        if ("^$.|?*+{}".indexOf(peek()) >= 0) {
            throw new Doubt("unexpected sign");
        }
        int code = sign();
        return counted(new int[] {code, code});
    }

    private int[] ranges() {
        List bounds = new ArrayList();
        while (peek() != ']') {
            int low = sign();
            int high = low;
            if (peek() == '-') {
                place++;
                high = sign();
            }
            if (high < low) {
                throw new Doubt("a range that falls");
            }
            bounds.add(Integer.valueOf(low));
            bounds.add(Integer.valueOf(high));
        }
        place++;
        if (bounds.isEmpty()) {
            throw new Doubt("an empty class");
        }
        int[] found = new int[bounds.size()];
        for (int n = 0; n < found.length; n++) {
            found[n] = ((Integer) bounds.get(n)).intValue();
        }
        return found;
    }

    private int sign() {
        int code = next();
        if (code != '\\') {
            return code;
        }
        code = next();
        if (code != 'x') {
            if (Character.isLetterOrDigit(code)) {
                throw new Doubt("unexpected escape");
            }
            return code;
        }
        int high = "0123456789abcdef".indexOf(next());
        int low = "0123456789abcdef".indexOf(next());
        if (high < 0 || low < 0) {
            throw new Doubt("unexpected escape");
        }
        return 16 * high + low;
    }

    private Node counted(int[] chars) {
        Node found = new Node();
        found.chars = chars;
        int sign = peek();
        if (sign == '*' || sign == '+' || sign == '?') {
            place++;
            found.least = sign == '+' ? 1 : 0;
            found.most = sign == '?' ? 1 : -1;
        } else if (sign == '{') {
            place++;
            found.least = number();
            found.most = found.least;
            if (peek() == ',') {
                place++;
                found.most = peek() == '}' ? -1 : number();
            }
            expect('}');
            if (found.most >= 0 && found.most < found.least) {
                throw new Doubt("a count that falls");
            }
        }
        return found;
    }

    private int number() {
        int found = 0;
        int digits = 0;
        while (peek() >= '0' && peek() <= '9' && digits < 9) {
            found = 10 * found + next() - '0';
            digits++;
        }
        if (digits == 0) {
            throw new Doubt("a count without digits");
        }
        return found;
    }

    /** The next character; -1 at the end. */
    private int peek() {
        return place < text.length ? text[place] : -1;
    }

    private int next() {
        if (peek() == -1) {
            throw new Doubt("ends too early");
        }
        return text[place++];
    }

    private void expect(int sign) {
        if (next() != sign) {
            throw new Doubt("another sign was expected");
        }
    }

    private boolean startsWith(String begin) {
        for (int n = 0; n < begin.length(); n++) {
            if (place + n >= text.length || text[place + n] != begin.charAt(n)) {
                return false;
            }
        }
        return true;
    }
}
