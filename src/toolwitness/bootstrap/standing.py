"""What a desk decides beyond one answer: several at once, what stands for a while, and who holds authority."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from toolwitness.core.errors import InvalidInput
from toolwitness.core.verdicts import Actor
from toolwitness.policy.cost import Money, read_money
from toolwitness.policy.grants import Terms
from toolwitness.ports import Recorded
from toolwitness.service import erase as erasing
from toolwitness.service import standing, together
from toolwitness.service.workplace import Receipt, Workplace


class StandingDesk:
    """The part of a desk that decides about more than one call."""

    place: Workplace

    def _actor(self, by: Actor | str) -> Actor:
        raise NotImplementedError

    async def decide(self, answers: Sequence[together.Answered | Mapping[str, str]], *, by: Actor | str) -> list[together.Result]:
        """Answer several requests in one submission; each call is decided by itself, and each answer gets its own result.

        An answer is a mapping with ``invocation_id``, ``answer`` (``approve`` or ``deny``) and what ``approve`` is bound to. Two opposite
        answers to one request decide nothing.

        Raises:
            InvalidInput: there is no answer, too many, or one that holds a field that nobody knows.
        """
        return await together.decide_together(self.place, [_answer(one) for one in answers], actor=self._actor(by))

    async def grant(
        self, tool: str, *, by: Actor | str, seconds: float, count: int | None = None, amount: str = "", most: str = "", currency: str = "",
        where: Mapping[str, Any] | None = None, task: str = "", reason: str = "",
    ) -> Recorded:  # fmt: skip  # a signature in three lines
        """Permit calls of a tool beforehand, within a scope, a limit and a time: the only way to approve for a while.

        ``seconds`` is how long it holds; ``count`` how many calls it covers; ``amount`` what they may cost together and ``most`` what one
        may cost, in ``currency``; ``where`` names inputs that must be exactly this; ``task`` is the task in which it holds, all of the
        tenant's where it is empty.

        Raises:
            NotPermitted: not theirs to give, confirmed each time, or without a limit.
            InvalidInput: an amount, the time or the task cannot be understood.
        """
        terms = Terms(
            tool=tool, expires_at=_end(self.place.now(), seconds), count=count, amount=_money(amount, currency),
            most=_money(most, currency), where=dict(where or {}), task=task,
        )  # fmt: skip  # facts in lines
        return await standing.grant(self.place, terms, actor=self._actor(by), reason=reason)

    async def revoke_grant(self, grant_id: str, *, by: Actor | str, reason: str = "") -> Recorded:
        """Take a standing grant back; it covers nothing from here on, also what was permitted and has not been dispatched.

        Raises:
            NotPermitted: not theirs to take back.
            UnknownId: no such grant stands.
        """
        return await standing.revoke_grant(self.place, grant_id, actor=self._actor(by), reason=reason)

    async def grants(self, *, by: Actor | str) -> list[dict[str, Any]]:
        """List the grants that stand in the actor's tenant, with what is used of each."""
        return await standing.grants_of(self.place, self._actor(by))

    async def erase(self, what: str, *, by: Actor | str, reason: str, which: str = "all") -> Receipt:
        """Have the values of an invocation, or one value by its reference, forgotten: bytes and salt; who, when and why stays on record.

        ``which`` is ``inputs``, ``outputs`` or ``all``.

        Raises:
            NotPermitted: the actor is none of the policy file's erasers, an open call still needs them, or nothing is left.
            UnknownId: nothing is recorded under this id.
        """
        return await erasing.erase(self.place, what, actor=self._actor(by), reason=reason, which=which)

    async def revoke_authority(self, holder: str, *, by: Actor | str, role: str = "", reason: str = "") -> list[Recorded]:
        """Take authority from somebody, all of it or one role; what rests on it and has not been dispatched is invalidated.

        Raises:
            NotPermitted: the actor is none of the policy file's administrators, and it is not their own.
        """
        return await standing.revoke_authority(self.place, holder, actor=self._actor(by), role=role, reason=reason)

    async def revoked(self, *, by: Actor | str) -> list[dict[str, Any]]:
        """List the authority that was taken and not given back: all of it for administrators, else the actor's own."""
        return await standing.revoked_of(self.place, self._actor(by))

    async def restore_authority(self, holder: str, *, by: Actor | str, role: str = "", reason: str = "") -> Recorded:
        """Give back authority that was taken; what was invalidated meanwhile stays so. Raises as ``revoke_authority`` does."""
        return await standing.restore_authority(self.place, holder, actor=self._actor(by), role=role, reason=reason)


def _answer(one: together.Answered | Mapping[str, str]) -> together.Answered:
    if isinstance(one, together.Answered):
        return one
    try:
        return together.Answered(**one)
    except TypeError as error:
        remedy = "Give invocation_id and answer, and at most approval_id, inputs_digest, reason and request_id."
        raise InvalidInput(f"An answer cannot be read: {error}.", field="answers", remedy=remedy) from None


def _end(now: datetime, seconds: float) -> datetime:
    try:
        return now + timedelta(seconds=seconds)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"How long the grant holds cannot be understood: {error}.", field="seconds", remedy="Give seconds.") from None


def _money(amount: str, currency: str) -> Money | None:
    return read_money(amount, currency) if amount else None
