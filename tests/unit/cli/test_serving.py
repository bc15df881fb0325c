"""serve and demo: the address in time, one session for each, a clean end on Ctrl-C, and clear words when something is in the way."""

import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.unit.cli.terminals import COMMAND, Ledger, a_process, document, roles_for_me, surroundings, toolwitness

ADDRESS = re.compile(r"http://\S+")


class Running:
    """A command that serves: its process, the address that it printed, and how long that took."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        """Wait for the address."""
        self.process = process
        begun = time.monotonic()
        assert process.stderr is not None
        while found := process.stderr.readline():
            if address := ADDRESS.search(found):
                self.url = address[0]
                break
        self.seconds = time.monotonic() - begun
        self.base = self.url.split("/?")[0]

    def ask(self, opener: urllib.request.OpenerDirector, path: str) -> Any:
        """Read a document."""
        with opener.open(self.base + path, timeout=10) as answer:
            return json.loads(answer.read())

    def end(self, how: signal.Signals) -> str:
        """Send a signal, and give what was said on standard error until the end."""
        self.process.send_signal(how)
        return self.process.communicate(timeout=30)[1]


@contextmanager
def running(*arguments: str, folder: Path, **environment: str) -> Iterator[Running]:
    """Run a command that serves, and end it."""
    with subprocess.Popen(
        [str(COMMAND), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder, env=surroundings(**environment)
    ) as process:  # fmt: skip  # facts in lines
        try:
            yield Running(process)
        finally:
            process.kill()


def browser() -> urllib.request.OpenerDirector:
    """Give something that keeps its cookies."""
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor())


def visit(opener: urllib.request.OpenerDirector, url: str) -> str:
    with opener.open(url, timeout=10) as answer:
        return str(answer.read().decode())


def test_the_demo_prints_its_address_in_time_and_shows_a_live_page_with_everything_in_it(tmp_path: Path) -> None:
    with running("demo", "--no-open", "--port", "0", folder=tmp_path) as demo:
        assert demo.seconds < 10
        person = browser()
        page = visit(person, demo.url)
        assert '<script type="application/json" id="tw-boot">' in page
        expected = {"Book the trip the user chose", "Everything around the trip"}
        patience = time.monotonic() + 10  # the address is printed before the story begins
        while (actual := {task["title"] for task in demo.ask(person, "/api/tasks")["tasks"]}) != expected and time.monotonic() < patience:
            pass
        assert actual == expected
        visit(person, f"{demo.base}/static/toolwitness.js")


def test_the_address_opens_one_session_and_no_second_one(tmp_path: Path) -> None:
    with running("demo", "--no-open", "--port", "0", folder=tmp_path) as demo:
        visit(browser(), demo.url)
        with pytest.raises(urllib.error.HTTPError) as refused:
            visit(browser(), demo.url)
        assert refused.value.code in {401, 403}
        refused.value.close()


@pytest.mark.parametrize(("how", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_demo_ends_on_a_signal_with_every_body_ended_and_no_traceback(tmp_path: Path, how: signal.Signals, code: int) -> None:
    with running("demo", "--no-open", "--port", "0", "--pace", "0.3", "--db", "trip.db", folder=tmp_path) as demo:
        person = browser()
        visit(person, demo.url)
        while not [task for task in demo.ask(person, "/api/tasks")["tasks"] if "partially" in task["state"]]:
            pass
        stream = person.open(f"{demo.base}/api/stream", timeout=10)
        stream.readline()
        begun = time.monotonic()
        said = demo.end(how)
        seconds = time.monotonic() - begun
        stream.close()
    assert demo.process.returncode == code
    assert "Traceback" not in said
    assert "Closing: every call is asked to stop, and seen to its end." in said
    assert seconds < 10
    rows = document(toolwitness("show", "--json", "--db", "trip.db", folder=tmp_path))["tasks"]
    calls = [
        call
        for row in rows
        for call in document(toolwitness("show", row["id"], "--json", "--db", "trip.db", folder=tmp_path))["invocations"]
    ]
    assert {call["state"] for call in calls} & {"queued", "running", "streaming", "partially_complete"} == set()
    assert toolwitness("verify", "--db", "trip.db", folder=tmp_path).returncode == 0


def test_a_demo_without_a_file_leaves_nothing_behind(tmp_path: Path) -> None:
    with running("demo", "--no-open", "--port", "0", folder=tmp_path, TMPDIR=str(tmp_path)) as demo:
        assert [path.name.startswith("toolwitness-demo-") for path in tmp_path.iterdir()] == [True]
        demo.end(signal.SIGTERM)
    assert list(tmp_path.iterdir()) == []


def test_the_demo_gives_its_roles_to_nobody_elses_calls(ledger: Ledger) -> None:
    before = Path(ledger.file).read_bytes()
    asked = a_process("demo", "--no-open", "--port", "0", "--db", ledger.file, folder=ledger.folder)
    assert asked.returncode == 2
    assert "is there already, and the demo writes its story into a file of its own" in asked.stderr
    assert Path(ledger.file).read_bytes() == before


@pytest.mark.parametrize("command", ["serve", "demo"])
def test_a_port_that_is_taken_ends_with_3_and_names_it(ledger: Ledger, command: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        more = ["--no-open"] if command == "demo" else []
        asked = a_process(command, "--port", port, *more, folder=ledger.folder)
    assert (asked.returncode, asked.stdout) == (3, "")
    assert asked.stderr.splitlines()[-2:] == [
        f"toolwitness: Port {port} on 127.0.0.1 is taken.", "  Choose another with --port, or 0 for a free one.",
    ]  # fmt: skip  # two lines


def test_serve_does_not_listen_where_others_could_hear_it(ledger: Ledger) -> None:
    asked = toolwitness("serve", "--host", "0.0.0.0", "--port", "0", "--json", folder=ledger.folder)  # noqa: S104 - it is refused
    assert (asked.returncode, document(asked)["error"]["field"]) == (2, "--host")


def test_serve_says_as_a_document_where_it_is_and_serves_with_the_roles_of_the_policy_file(ledger: Ledger) -> None:
    roles_for_me(ledger.folder, "finance")
    with subprocess.Popen(
        [str(COMMAND), "serve", "--port", "0", "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ledger.folder,
        env=surroundings(),
    ) as process:  # fmt: skip  # facts in lines
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told.keys() == {"url", "base"}
        person = browser()
        visit(person, told["url"])
        with person.open(f"{told['base']}/api/invocations/{ledger.waiting}", timeout=10) as answer:
            assert "approve" in json.loads(answer.read())["permittedActions"]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "")
