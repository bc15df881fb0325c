"""What a desk does where a call cannot simply go on: again, undone, otherwise, found out, or answered by a person."""

from typing import Any

from toolwitness.bootstrap.standing import StandingDesk
from toolwitness.core.verdicts import Actor
from toolwitness.runtime.encoding import encode_value
from toolwitness.service import again, reconcile, respond
from toolwitness.service.workplace import Receipt


class RecoveringDesk(StandingDesk):
    """The part of a desk that finds a way on."""

    async def retry(self, invocation_id: str, *, by: Actor | str, reason: str = "") -> Receipt:
        """Propose the next attempt; the receipt's record is the new one. Raises as ``approve`` does."""
        return await again.retry(self.place, invocation_id, actor=self._actor(by), reason=reason)

    async def reverse(self, invocation_id: str, *, by: Actor | str, reason: str = "") -> Receipt:
        """Propose the named inverse as a call of its own. Raises as ``approve`` does."""
        return await again.reverse(self.place, invocation_id, actor=self._actor(by), reason=reason)

    async def resubmit(self, invocation_id: str, *, by: Actor | str, reason: str = "") -> Receipt:
        """Propose an expired or closed call afresh. Raises as ``approve`` does."""
        return await again.resubmit(self.place, invocation_id, actor=self._actor(by), reason=reason)

    async def request_approval_again(self, invocation_id: str, *, by: Actor | str) -> Receipt:
        """Ask anew after an approval was invalidated or has expired. Raises as ``approve`` does."""
        return await again.request_approval_again(self.place, invocation_id, actor=self._actor(by))

    async def choose_route(self, invocation_id: str, route: str, *, by: Actor | str, reason: str = "") -> Receipt:
        """Choose a declared alternate route. Raises as ``approve`` does."""
        return await again.choose_route(self.place, invocation_id, actor=self._actor(by), route=route, reason=reason)

    async def reconcile(
        self, invocation_id: str, conclusion: str = "", *, by: Actor | str, detail: str = "", reference: str = ""
    ) -> Receipt:
        """Record what is known about the effects now: ``happened``, ``did-not-happen``, ``partly``, or a sentence.

        Without a conclusion the tool's ``reconcile`` function is asked; where it does not know, that is on record and nothing is settled.
        Raises as ``approve`` does.
        """
        return await reconcile.reconcile(
            self.place, invocation_id, actor=self._actor(by), conclusion=conclusion, detail=detail, reference=reference
        )

    async def respond(self, invocation_id: str, answer: Any, *, by: Actor | str, reason: str = "", approval_id: str = "") -> Receipt:
        """Answer in the tool's place: the call is closed before dispatch, and the answer is the person's and no result of the tool.

        Raises as ``approve`` does.
        """
        raw = encode_value(answer)
        return await respond.respond(
            self.place, invocation_id, actor=self._actor(by), answer=raw, reason=reason, approval_id=approval_id
        )  # fmt: skip  # one call
