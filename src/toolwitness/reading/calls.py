"""Every call that a capture has shown: which one a word is about, and what proposals, requests and decisions amount to.

The three surfaces of the framework (its own events, AG-UI, the Vercel AI stream), its in-process hooks and the outside all speak to the
same book. A call event is never a start: it precedes approvals, and every call of a batch before the first has run.
"""

from dataclasses import dataclass, field
from typing import Any

from toolwitness.core.evidence import Kind
from toolwitness.core.states import ClosureKind
from toolwitness.reading.lenient import items, members
from toolwitness.reading.pen import UNRECORDED, Pen, exact


@dataclass(slots=True, kw_only=True)
class Call:
    """One call as the model proposed it, and how far the capture has followed it."""

    invocation_id: str
    provider_id: str
    tool: str
    args: bytes
    occurrence: int
    """The how-manyeth call with this id in the capture."""
    attempt: int = 1
    step: int = 0
    """The model response that proposed it."""
    proposal: str = ""
    """The id of its proposal event; empty where nobody was seen to propose it."""
    run: int = 0
    """The run that last took it up."""
    taken_up: int = 0
    settled_outside: bool = False
    """The framework was given its result instead of running it."""
    waits_for: str = ""
    """``approval``, ``question`` or ``external`` once it was deferred."""
    approval_id: str = ""
    approvals: int = 0
    answer: str = ""
    """How the latest approval was answered: ``granted`` or ``denied``."""
    over: bool = False
    """Ended or closed since it was last taken up."""
    ended: bool = False
    """Ended or closed before, whatever came after."""
    well: bool = False
    """Its latest end was a success."""
    doubted: bool = False
    """Its latest end was one that cannot be believed."""
    runs: int = 0
    """How often its body was seen to end."""
    begun: bool = False
    """A hook saw its body entered, and not yet left."""
    told: bool = False
    """A hook told the end of the body; the framework's result adds nothing to it."""
    refused: bool = False
    wants_retry: bool = False
    followed: bool = False
    """Another call has taken its place."""
    released: bool = False
    steps: int = 0
    """How much progress was reported."""
    results: set[str] = field(default_factory=set[str])

    @property
    def awaits_approval(self) -> bool:
        """Whether an approval was asked for and nobody was seen to answer."""
        return self.waits_for == "approval" and not self.answer


class Calls:
    """The calls of one capture."""

    def __init__(self, pen: Pen, framework: str) -> None:
        """Begin with none; ``framework`` is the name under which the runtime is cited."""
        self.pen = pen
        self.framework = framework
        self.all: list[Call] = []
        self.run = 1
        self.running = True
        self.run_id: str | None = None
        """The framework's or the protocol's id of the present run, where the surface tells it."""
        self.proposer = "model"
        """Who is seen to propose; a protocol shows its client, and not what made the client ask."""
        self._step = 0
        self._responding = False

    # ── which call is meant ─────────────────────────────────────────────────────────────────────────────────────────

    def known(self, provider_id: str) -> list[Call]:
        """Give the calls that carried this id, oldest first."""
        return [call for call in self.all if call.provider_id == provider_id]

    def current(self, provider_id: str) -> Call | None:
        """Give the call that a word with this id is about: the oldest that is open, else the latest."""
        known = self.known(provider_id)
        waiting = [call for call in known if not call.over and not call.followed]
        return waiting[0] if waiting else known[-1] if known else None

    def meant(self, provider_id: str, tool: str = "") -> Call:
        """Give the call that a word with this id is about; one that nobody was seen to propose is taken as it comes (R8)."""
        return self.current(provider_id) or self._open(provider_id, tool, b"")

    def live(self) -> list[Call]:
        """Give the calls that the present run has in hand: neither ended, nor waiting for a person, nor sent back to the model."""
        if not self.running:
            return []
        return [call for call in self.all if call.run == self.run and not call.over and not call.refused and not _waits(call)]

    def awaiting_approval(self) -> list[Call]:
        """Give the calls whose approval nobody was seen to answer."""
        return [call for call in self.all if call.awaits_approval]

    def begin_run(self) -> None:
        """Note that a run speaks; it is a new one where the last has ended."""
        if not self.running:
            self.run += 1
            self.running = True
            self._responding = False

    def turn_to_tools(self) -> None:
        """Note that the framework has turned to the calls: what the model proposes next is another response."""
        self._responding = False

    # ── what the model does ─────────────────────────────────────────────────────────────────────────────────────────

    def propose(
        self, word: str, provider_id: str, tool: str, args: bytes, *, time: str | None = None, again: Call | None = None,
        answered: Call | None = None,
    ) -> Call:  # fmt: skip  # a signature in three lines
        """Record a proposal: always a new call, whatever its id was used for before (R9).

        ``again`` is the ended call that the framework itself is seen to run once more: the new one is its next attempt. ``answered`` is a
        call whose answer came before its proposal: this is it.
        """
        if not self._responding:
            self._responding = True
            self._step += 1
        earlier = again or self._predecessor(tool, args)
        call = answered or self._open(provider_id, tool, args)
        call.tool, call.args = tool, args
        correct = earlier is not None and earlier.refused and again is None
        if earlier is not None and not correct:
            call.attempt = earlier.attempt + 1
        call.proposal = self.pen.write(
            Kind.PROPOSED, word, call.invocation_id, attempt=call.attempt, values={"inputs": args}, time=time,
            data={
                "tool": tool or "unnamed", "source_request": self._source_request(),
                "proposer": self.proposer if again is None else self.framework,
                "correlation": [self._correlation(provider_id, call.occurrence)],
                "retry_of": earlier.invocation_id if earlier is not None and not correct else None,
                "replaces": earlier.invocation_id if earlier is not None and correct else None,
            },
        )  # fmt: skip  # facts in lines
        if earlier is not None:
            earlier.followed = True
            if correct:
                self.withdraw(word, earlier, "replaced by a corrected call", replaced_by=call.invocation_id)
        return call

    def _source_request(self) -> str:
        return f"run {self.run}, {'response' if self.proposer == 'model' else 'message'} {self._step} of the {self.proposer}"

    def _open(self, provider_id: str, tool: str, args: bytes) -> Call:
        occurrence = len(self.known(provider_id)) + 1
        invocation_id = self.pen.new_id("inv", provider_id, str(occurrence))
        call = Call(
            invocation_id=invocation_id, provider_id=provider_id, tool=tool, args=args, occurrence=occurrence, step=self._step, run=self.run
        )
        self.all.append(call)
        self.pen.introduce(invocation_id, self._correlation(provider_id, occurrence))
        return call

    def _correlation(self, provider_id: str, occurrence: int) -> dict[str, Any]:
        """Say what the framework calls the call."""
        called = {"source": self.framework, "run_id": self.run_id, "provider_call_id": provider_id, "occurrence": occurrence}
        return {name: fact for name, fact in called.items() if fact is not None}

    def _predecessor(self, tool: str, args: bytes) -> Call | None:
        """Find the one call that the model was asked to make again and that this one answers; none where that is not sure."""
        asked = [c for c in self.all if c.tool == tool and c.step < self._step and not c.followed and (c.refused or c.wants_retry)]
        if len(asked) > 1:
            asked = [c for c in asked if c.wants_retry and c.args == args]
        return asked[0] if len(asked) == 1 else None

    # ── what the framework does with it ─────────────────────────────────────────────────────────────────────────────

    def take_up(self, word: str, call: Call) -> None:
        """Note that a run has the call in hand. That is no start; for a call that waited for an approval it shows that it was given."""
        self.turn_to_tools()
        call.run, call.taken_up = self.run, call.taken_up + 1
        call.over = call.released = call.settled_outside = call.told = False
        if call.waits_for == "approval" and call.answer != "granted":
            self.grant(word, call, UNRECORDED)

    def settle_outside(self, call: Call) -> None:
        """Note that the framework will not run the call: its result was given from outside."""
        self.turn_to_tools()
        call.run, call.settled_outside, call.told = self.run, True, False

    def refuse_inputs(self, word: str, call: Call, why: str, *, details: Any = None, time: str | None = None) -> None:
        """Record that the framework did not accept the arguments; it asks the model, not a person."""
        self.turn_to_tools()
        call.refused = True
        self.pen.write(
            Kind.INPUTS_REJECTED, word, call.invocation_id, attempt=call.attempt, time=time,
            data={"validation": why, "collector": "model", "unresolved": _fields(details)},
            values={} if details is None else {"problems": exact(details)},
        )  # fmt: skip  # facts in lines

    def ask_approval(self, word: str, call: Call, *, summary: str = "", expires_at: str | None = None) -> None:
        """Record that the framework waits for an approval of this call; saying it twice asks once.

        ``summary`` and ``expires_at`` are what the framework itself says the call would do, and until when it waits.
        """
        if call.awaits_approval:
            return
        call.approvals += 1
        call.waits_for, call.answer = "approval", ""
        call.approval_id = self.pen.new_id("apr", call.invocation_id, str(call.approvals))
        self.pen.write(
            Kind.APPROVAL_REQUESTED, word, call.invocation_id, attempt=call.attempt,
            data={
                "approval_id": call.approval_id, "attempt": call.attempt, "authority": f"{self.framework} requires_approval",
                "authorization_owner": self.framework, "scope": "this call, with the inputs shown",
                "consequence_summary": summary
                or f"{call.tool or 'The tool'} runs with these inputs. The framework declares no consequence.",
                "expires_at": expires_at,
            },
        )  # fmt: skip  # facts in lines

    def ask_input(self, word: str, call: Call, kind: str) -> None:
        """Record that the call waits for an answer: a person's (``question``) or another executor's (``external``)."""
        if call.waits_for == kind and not call.settled_outside:
            return
        call.waits_for = kind
        question = kind == "question"
        self.pen.write(
            Kind.INPUT_REQUIRED, word, call.invocation_id, attempt=call.attempt,
            data={"unresolved": ["answer" if question else "result"], "collector": "person" if question else "external executor"},
        )  # fmt: skip  # facts in lines

    def withdraw(self, word: str, call: Call, reason: str, *, replaced_by: str | None = None, by: str = "proposer") -> None:
        """Record that a call was closed before it ran because it is no longer wanted."""
        self.close(word, call, ClosureKind.WITHDRAWN, by, reason, replaced_by=replaced_by)

    def close(
        self, word: str, call: Call, kind: ClosureKind, initiator: str, reason: str, *,
        replaced_by: str | None = None, time: str | None = None, caused_by: tuple[str, ...] = (),
    ) -> None:  # fmt: skip  # a signature in two lines
        """Record a closure before dispatch, said by the framework, which owns the authorization here."""
        call.over = call.ended = True
        self.pen.write(
            Kind.CLOSED, word, call.invocation_id, attempt=call.attempt, time=time, caused_by=caused_by,
            data={
                "kind": kind.value, "initiator": initiator, "scope": "this call", "reason": reason, "at": time or self.pen.clock,
                "replaced_by": replaced_by, "owner_name": self.framework, "executed": False, "approval_id": call.approval_id or None,
            },
        )  # fmt: skip  # facts in lines

    # ── decisions ───────────────────────────────────────────────────────────────────────────────────────────────────

    def grant(self, word: str, call: Call, actor: str, *, reason: str | None = None) -> None:
        """Record a grant of the approval that this call last asked for; a second one is recorded and refused by the record itself."""
        call.answer = "granted"
        self.pen.write(
            Kind.GRANTED, word, call.invocation_id, attempt=call.attempt,
            data={"actor": actor, "approval_id": call.approval_id, "reason": reason},
        )  # fmt: skip  # facts in lines

    def deny(self, word: str, call: Call, actor: str, *, reason: str | None = None, time: str | None = None) -> str:
        """Record a denial and give the event's id; the closure is the framework's to record."""
        if call.answer != "granted":
            call.answer = "denied"
        return self.pen.write(
            Kind.DENIED, word, call.invocation_id, attempt=call.attempt, time=time,
            data={"actor": actor, "approval_id": call.approval_id, "reason": reason},
        )  # fmt: skip  # facts in lines

    def edit(self, word: str, call: Call, actor: str, inputs: bytes) -> None:
        """Record that the decision put other inputs in place of the proposed ones: what runs is compared with these."""
        call.args = inputs
        self.pen.write(Kind.INPUTS_EDITED, word, call.invocation_id, attempt=call.attempt, data={"actor": actor}, values={"inputs": inputs})

    def supply(self, word: str, call: Call, actor: str, answer: Any) -> None:
        """Record an answer that was given in the tool's place."""
        self.settle_outside(call)
        self.pen.write(
            Kind.INPUT_SUPPLIED, word, call.invocation_id, attempt=call.attempt, data={"actor": actor}, values={"inputs": exact(answer)}
        )

    def request_cancellation(self, word: str, scope: str) -> None:
        """Record the request for every call that the run has in hand. It is no acknowledgement (R3)."""
        for call in self.live():
            self.pen.write(
                Kind.CANCEL_REQUESTED, word, call.invocation_id, attempt=call.attempt, data={"actor": UNRECORDED, "scope": scope}
            )


def _waits(call: Call) -> bool:
    return call.awaits_approval or (call.waits_for in {"question", "external"} and not call.settled_outside)


def _fields(details: Any) -> list[str]:
    """Name the fields that validation errors are about."""
    named = [items(members(error).get("loc")) for error in items(details)]
    return sorted({str(loc[0]) for loc in named if loc})
