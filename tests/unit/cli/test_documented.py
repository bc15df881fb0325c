"""The page on the command line says which keys a document has, and they are those."""

import re
from pathlib import Path

from tests.unit.cli.terminals import Ledger, document, roles_for_me, toolwitness

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
CAPTURE = min((ROOT / "spec" / "captures").rglob("*.jsonl"))


def documented(command: str) -> set[str]:
    """Give the keys that the page names for a command."""
    (row,) = re.findall(rf"^\| [^|]*`{re.escape(command)}`[^|]* \| (.+) \|$", PAGE.split("## JSON")[1], re.MULTILINE)
    return set(re.findall(r"`(\w+)`", row))


def test_the_documents_have_the_keys_that_the_page_names(ledger: Ledger) -> None:
    roles_for_me(ledger.folder, "finance")
    asked = {
        "show": ["show"],
        "inbox": ["inbox"],
        "verify": ["verify"],
        "retry": ["retry", ledger.failed],
        "approve": ["approve", ledger.waiting],
        "replay": ["replay", str(CAPTURE), "--format", "pydantic-ai"],
        "truth": ["truth", str(ROOT / "spec" / "captures" / "a2a")],
        "demo --autopilot": ["demo", "--autopilot", "--port", "0", "--pace", "0.02", "--db", "memory:"],
    }
    actual = {name: set(document(toolwitness(*arguments, "--json", folder=ledger.folder))) for name, arguments in asked.items()}
    expected = {name: documented(name) for name in asked}
    assert actual == expected


def test_the_example_of_a_policy_file_is_one(ledger: Ledger) -> None:
    example = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
    (ledger.folder / "toolwitness.toml").write_text(example, encoding="utf-8")
    assert toolwitness("inbox", folder=ledger.folder).returncode == 0
