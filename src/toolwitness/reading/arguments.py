"""Arguments as a model writes them: piece by piece, perhaps cut, perhaps no object, always kept as the exact text that came."""

from dataclasses import dataclass
from typing import Any

from toolwitness.reading.pen import exact
from toolwitness.wire.json_text import ProblemCode, parse


@dataclass(slots=True, kw_only=True)
class Writing:
    """One call whose arguments are still being written."""

    provider_id: str
    tool: str
    text: str = ""

    def add(self, piece: str) -> None:
        """Add the next piece; a character that two pieces tore apart (half a surrogate pair each) is made whole again."""
        if "\ud800" <= self.text[-1:] <= "\udbff" and "\udc00" <= piece[:1] <= "\udfff":
            torn = (self.text[-1] + piece[0]).encode("utf-16-le", "surrogatepass")
            self.text, piece = self.text[:-1] + torn.decode("utf-16-le"), piece[1:]
        self.text += piece

    @property
    def is_whole(self) -> bool:
        """Whether the text is a whole JSON object, so that nothing but white space can follow."""
        return self.text.rstrip().endswith("}") and doubts(self.text) == ""

    def bytes_for(self, value: Any) -> bytes:
        """Give the text's own bytes where it says just this value (a 19-digit integer stays one), else the value as JSON."""
        if self.text and parse(self.text).is_exact and parse(self.text).value == value:
            return exact(self.text)
        return exact(value)


def doubts(text: str) -> str:
    """Say what is doubtful about a text of arguments; empty where it is one whole JSON object."""
    if not text.strip():
        return "the arguments are empty"
    parsed = parse(text, expect="object")
    if not parsed.problems:
        return ""
    worst = parsed.problems[0]
    if parsed.has(ProblemCode.TRUNCATED):
        return "the arguments are cut; what came is kept"
    return f"the arguments are doubtful ({worst.code}: {worst.detail}); the text is kept as it came"
