"""What `scripts/count-code` counts."""

import code_lines

PYTHON = '''"""What the module is."""

import os  # a word

# A comment.
TEXT = """a text

is code"""


def f():
    """What it does,

    in two lines.
    """
    return (
        TEXT
    )
'''
JINJA = """{#- What it
    does. -#}
{% macro f() %}
  select 1
  -- not this
  {# nor this #}
  from t {#- but
  this -#} where true
{% endmacro %}
"""
JAVA = """/** What it
 * is. */
class A {
    // Not this.
    String url = "http://host"; // a word
    /* nor
       this */ int one = 1;
    char slash = '/';
}
"""


def test_lines_of_code() -> None:
    # Those of `TEXT` are three, and its blank one is code.
    assert code_lines.python(PYTHON) == 8
    assert code_lines.jinja(JINJA) == 5
    assert code_lines.java(JAVA) == 5


def test_what_is_left_out() -> None:
    files = [path for path, _ in code_lines.counts()]
    assert {path.suffix for path in files} == {".py", ".sql", ".java"}
    assert not any(path.is_relative_to("src/alluvium/demo") for path in files)
