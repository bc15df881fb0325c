"""Who asks, and whether the request is really theirs.

Nothing is readable without an actor. A request that changes something needs, besides the actor, proof that it was not sent by another site:
the token that only our own page was given, or an ``Authorization`` header, which no site can make a browser send.
"""

import hmac
import inspect
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from starlette.requests import Request

from toolwitness.core.verdicts import Actor

Authenticate = Callable[[Request], "Actor | None | Awaitable[Actor | None]"]
"""Tells who a request comes from, or ``None``. It may be async."""

CSRF_HEADER: Final = "x-toolwitness-csrf"
COOKIE: Final = "toolwitness_session"


class NoActor(Exception):
    """The request comes from nobody we know."""


class CrossSite(Exception):
    """The request changes something and may have been sent by another site."""


@dataclass(slots=True)
class Gate:
    """Lets requests in: first the actor, then, for changes, the proof that the request is the actor's own."""

    authenticate: Authenticate | None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    async def actor(self, request: Request) -> Actor:
        """Give the actor of a request.

        Raises:
            NoActor: nobody was recognised.
        """
        if self.authenticate is None:
            raise NoActor
        found = self.authenticate(request)
        actor = await found if inspect.isawaitable(found) else found
        if not isinstance(actor, Actor) or not actor.id:
            raise NoActor
        return actor if actor.channel else Actor(id=actor.id, roles=actor.roles, tenant=actor.tenant, name=actor.name, channel="http")

    def csrf(self, actor: Actor) -> str:
        """Give the token that our page sends with every change in the name of ``actor``."""
        return hmac.new(self.secret, f"{actor.tenant}\0{actor.id}".encode(), sha256).hexdigest()

    def check_origin(self, request: Request, actor: Actor) -> None:
        """Let a changing request through only if no other site can have made it.

        Raises:
            CrossSite: the token is missing or wrong, or the browser says that the request comes from elsewhere.
        """
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            raise CrossSite
        if request.headers.get("authorization"):
            return
        if not hmac.compare_digest(request.headers.get(CSRF_HEADER, ""), self.csrf(actor)):
            raise CrossSite


@dataclass(slots=True)
class LoopbackLogin:
    """The login of a server on its own machine: a URL with a token that opens one session, and a key for programs.

    The person at the machine is ``os:<user>``. The token in the URL works once; after that the browser holds a cookie.
    """

    actor: Actor
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """The bearer key for programs of the same user; never printed unless asked for."""
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _used: list[str] = field(default_factory=list)

    def authenticate(self, request: Request) -> Actor | None:
        """Know the session cookie or the bearer key."""
        cookie = request.cookies.get(COOKIE, "")
        if cookie and hmac.compare_digest(cookie, self._session):
            return self.actor
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and given and hmac.compare_digest(given, self.key):
            return self.actor
        return None

    def open_session(self, token: str) -> str | None:
        """Give the session's cookie value for an unused token; ``None`` for any other."""
        if not token or self._used or not hmac.compare_digest(token, self.token):
            return None
        self._used.append(token)
        return self._session
