"""How the JVM is started."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path

from alluvium.engine import java, process

READER = """
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

class Reader {
    public static void main(String[] names) throws IOException {
        Properties read = new Properties();
        read.load(new InputStreamReader(new FileInputStream(names[0]), StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (String key : new TreeSet<>(read.stringPropertyNames()))
            out.print(key + "\\0" + read.getProperty(key) + "\\0");
    }
}
"""


def test_properties_are_read_as_they_were_given(tmp_path: Path) -> None:
    """By Java itself, which is how Spark reads them."""
    (tmp_path / "Reader.java").write_text(READER)
    left, fresh = tmp_path / "spark-properties-left", tmp_path / "spark-properties-fresh"
    for path in (left, fresh):
        path.write_text("a=b")
    then = time.time() - 86_400
    os.utime(left, (then, then))
    conf = {
        "spark.a": r"C:\\new\\u0041 = #1",
        "spark.b": " two lines\n\tand: more!\r\f",
        "spark.c d": "ä€😀",
        "spark.e": "",
    }
    with process._properties(conf, tmp_path) as name:
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
        command = [str(java.check().path), str(tmp_path / "Reader.java"), name]
        said = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    assert said == "".join(f"{key}\0{value}\0" for key, value in sorted(conf.items()))
    assert not Path(name).exists()
    # Of a start that was killed; that of another start goes on.
    assert (left.exists(), fresh.exists()) == (False, True)
