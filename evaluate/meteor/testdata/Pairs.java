import edu.cmu.meteor.aligner.Match;
import edu.cmu.meteor.scorer.*;
import edu.cmu.meteor.util.Constants;
import java.io.*;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;

/** Pairs TABLES.gz IN OUT: METEOR of pairs "hypothesis TAB reference", a JSON object a line. */
public class Pairs {
  static String quote(Object s) {
    return '"' + s.toString().replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }

  public static void main(String[] a) throws Exception {
    MeteorConfiguration c = new MeteorConfiguration();
    c.setLanguage("en");
    c.setNormalization(Constants.NORMALIZE_KEEP_PUNCT);
    c.setParaFileURL(new File(a[0]).toURI().toURL());
    MeteorScorer scorer = new MeteorScorer(c);
    try (PrintStream out = new PrintStream(a[2], "UTF-8")) {
      for (String line : Files.readAllLines(Paths.get(a[1]), StandardCharsets.UTF_8)) {
        String[] p = line.split("\t", -1);
        MeteorStats s = scorer.getMeteorStats(p[0], p[1]);
        StringJoiner m = new StringJoiner(",");
        for (Match x : s.alignment.matches)
          if (x != null)
            m.add("[" + x.matchStart + "," + x.matchLength + "," + x.start + "," + x.length + "," + x.module + "]");
        out.println("{\"hyp\":" + quote(p[0]) + ",\"ref\":" + quote(p[1]) + ",\"hyp_words\":" + quote(String.join(" ", s.alignment.words1))
            + ",\"ref_words\":" + quote(String.join(" ", s.alignment.words2)) + ",\"score\":" + s.score
            + ",\"stats\":[" + s.toString().replace(' ', ',').replace(".0", "") + "],\"matches\":[" + m + "]}");
      }
    }
  }
}
