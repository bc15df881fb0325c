"""Celery's words → our evidence: the table.

Every task event of Celery stands here once: what it says, by what, what it leaves out, and, where it deliberately says nothing, why. A call
is a task. Measured with Celery 5.7.0 on RabbitMQ and Redis; the behaviour behind each row is in the captures.
"""

from typing import Final

from toolwitness.core.evidence import Kind as K
from toolwitness.reading.capabilities import Capabilities, no, partly, yes
from toolwitness.reading.words import Word

ADAPTER: Final = "celery"
VERSION: Final = "1"

EVENTS: Final = (
    Word("capture", (K.TASK_OPENED,), "the file: its Celery tasks are the calls of one task"),
    Word("task-sent", (K.PROPOSED,), "uuid, name, args, kwargs: a client sent it", "that a broker or a worker has it"),
    Word(
        "task-received", (K.ACCEPTED,), "a worker has taken the message; hostname and uuid are its place in the queue",
        "a start: it waits in the worker's own list",
    ),
    Word("task-received unsent", (K.PROPOSED,), "the first word about a task: task_send_sent_event is off by default"),
    Word("task-started", (K.STARTED,), "hostname and pid; a second one is a redelivery, and nobody decided it"),
    Word("task-progress", (K.PROGRESS,), "step and of, as the tool sends them with send_event"),
    Word(
        "task-succeeded", (K.SUCCEEDED,), "result, as Python writes it: a plain value is read, anything else is kept as a text",
        "a check of the result; a soft revoke that came before is not mentioned",
    ),
    Word("task-succeeded disguised", (K.LOST,), "a result that reads like a cancellation", "any end that can be believed"),
    Word("task-failed", (K.FAILED,), "the exception, its type as the category", "effects that came before"),
    Word("task-failed timed out", (K.DEADLINE_ELAPSED,), "TimeLimitExceeded or SoftTimeLimitExceeded", "what it had done by then"),
    Word("task-failed lost", (K.LOST,), "WorkerLostError: the process that ran it is gone", "what became of it"),
    Word("task-retried", (K.FAILED,), "the task asked to be run again; its next run is the next attempt", "when: only an eta"),
    Word("task-retried again", (K.PROPOSED,), "it is received again after it asked to be: the next attempt"),
    Word("task-revoked", (K.CANCEL_ACKNOWLEDGED,), "not terminated, not expired: a worker threw it away before it began"),
    Word("task-revoked terminated", (K.CANCEL_ACKNOWLEDGED,), "the worker has killed the process that ran it", "what it had done by then"),
    Word("task-revoked expired", (K.DEADLINE_ELAPSED,), "its expires was over when a worker looked", "on RabbitMQ nothing is said at all"),
    Word("task-rejected", (K.LOST,), "the worker gave the message back or threw it away, after its process had begun it", "an end"),
    Word("task-rejected unstarted", (), "the message went back or was thrown away before it began; a next worker may take it"),
    Word("worker", (), "worker-online, worker-heartbeat, worker-offline: about workers, not about tasks"),
)  # fmt: skip  # one word a row
"""The event stream: what ``celery events`` shows."""

BESIDE: Final = (
    Word("revoke", (K.CANCEL_REQUESTED,), "revoke() or abort() was called", "an acknowledgement: the broadcast has no answer, no record"),
    Word("expires", (K.DEADLINE_ELAPSED,), "declared with the task, judged by the worker that says expired"),
    Word("result backend", (), "one row that each state overwrites: ABORTED was erased by the next PROGRESS, so events are read instead"),
    Word("apply_async", (), "the client has sent it; the event says it too"),
    Word("provider", (K.EFFECT,), "what a provider observed beside the stream"),
)  # fmt: skip  # one word a row
"""What is seen beside the events."""

SECTIONS: Final = {"Events": EVENTS, "Beside them": BESIDE}
"""The table by subject, as the docs show it."""
TABLE: Final = tuple(word for words in SECTIONS.values() for word in words)
"""The whole table."""

CAPABILITIES: Final = {
    "from captured events": Capabilities(
        proposed=partly("task-sent, which is off by default; else with the first word of a worker"),
        approval_asked=no("Celery asks nobody"),
        who_decided=no("a revoke has no actor"),
        queued=yes("task-received: a worker has the message"),
        started=yes("with the worker's host and pid"),
        executed_inputs=no("args as Python wrote them when it was sent"),
        progress=partly("for tools that send events of their own"),
        ended=yes("as the worker says it; a result as Python writes it"),
        scoped_cancel=no("a capture cannot act"),
        acknowledgement=partly("task-revoked, with reconciliation open; an abort that the tool obeys looks like a success"),
        expiry=partly("with Redis, once a worker looks; with RabbitMQ never"),
    ),
}
"""What each way in can tell."""
