"""What an index answers for its file, in Python: the rules that Java's are tested against."""

from support.automata.conjunct import Conjunct
from support.automata.rules import from_tag, from_text, may_contain, may_match

__all__ = ["Conjunct", "from_tag", "from_text", "may_contain", "may_match"]
