"""Reads the policy file from the disk; what it says is understood in ``policy/files.py``."""

from pathlib import Path

from toolwitness.core.errors import InvalidInput
from toolwitness.policy.files import PolicyFile, read_policy_file


def load_policy(path: Path | str) -> PolicyFile:
    """Read a policy file whole.

    Raises:
        InvalidInput: it cannot be read, or not understood; file, line and field are named.
    """
    place = Path(path)
    try:
        text = place.read_text(encoding="utf-8")
    except OSError as error:
        why = f"The policy file {place} cannot be read: {error.strerror or error}."
        raise InvalidInput(why, field="policy", file=str(place), remedy="Check the path.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        why = f"{place}, line {line}: it is not written in UTF-8."
        raise InvalidInput(why, field="policy", file=str(place), line=line, remedy="Save it as UTF-8.") from error
    return read_policy_file(text, str(place))
