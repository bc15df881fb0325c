"""Who asks, and whether the request is really theirs.

Nothing is readable without an actor. A request that changes something needs, besides the actor, proof that it was not sent by another site:
the token that only our own page was given, or a bearer key, which no site can make a browser send.
"""

import hmac
import inspect
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from toolwitness.core.verdicts import Actor
from toolwitness.server.problems import Refused

Authenticate = Callable[[Request], "Actor | Awaitable[Actor | None] | None"]
"""Tells who a request comes from, or ``None``. It may be async."""

CSRF_HEADER: Final = "x-toolwitness-csrf"
COOKIE: Final = "toolwitness_session"
_NEVER_AMBIENT: Final = frozenset({"bearer", "dpop", "token"})
"""Schemes of ``Authorization`` that only a program's own code sends. ``Basic`` and ``Negotiate`` are sent by browsers on their own."""


class NoActor(Refused):
    """The request comes from nobody we know."""

    def __init__(self) -> None:
        """Say what to send."""
        super().__init__(401, "no-actor", "Nobody is signed in", remedy="Send the session cookie or an Authorization header.")


class CrossSite(Refused):
    """The request changes something and may have been sent by another site."""

    def __init__(self, detail: str) -> None:
        """Say what speaks against it."""
        super().__init__(
            403,
            "cross-site",
            "Refused as cross-site",
            detail=detail,
            remedy="Send X-Toolwitness-CSRF, as the page and /api/session give it.",
        )


@dataclass(slots=True)
class Gate:
    """Lets requests in: first the actor, then, for changes, the proof that the request is the actor's own."""

    authenticate: Authenticate | None
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    async def actor(self, request: Request) -> Actor:
        """Give the actor of a request.

        Raises:
            NoActor: nobody was recognised.
            TypeError: ``authenticate`` gave something that is neither an actor nor ``None``.
        """
        found: Any = None if self.authenticate is None else self.authenticate(request)
        actor = await found if inspect.isawaitable(found) else found
        if actor is None:
            raise NoActor
        if not isinstance(actor, Actor) or isinstance(actor.roles, str):
            raise TypeError("authenticate= gives a toolwitness.Actor, its roles a set of texts, or None.")
        if not actor.id:
            raise NoActor
        return replace(actor, roles=frozenset(actor.roles), channel=actor.channel or "http")

    def csrf(self, actor: Actor) -> str:
        """Give the token that our page sends with every change in the name of ``actor``."""
        return hmac.new(self.secret, f"{actor.tenant}\0{actor.id}".encode("utf-8", "surrogatepass"), sha256).hexdigest()

    def check_origin(self, request: Request, actor: Actor) -> None:
        """Let a changing request through only if no other site can have made it.

        Raises:
            CrossSite: the token is missing or wrong, or the browser says that the request comes from elsewhere.
        """
        scheme = request.headers.get("authorization", "").partition(" ")[0].lower()
        if scheme in _NEVER_AMBIENT:
            return
        said = request.headers.get("sec-fetch-site")
        if said not in {None, "same-origin", "none"}:
            raise CrossSite("The browser says that another site sent the request.")
        # A proxy in front may have changed Host; what the browser itself compared counts for more.
        if said is None and not _same_host(request):
            raise CrossSite("The request's Origin is another host than the one that it was sent to.")
        if not same(request.headers.get(CSRF_HEADER, ""), self.csrf(actor)):
            raise CrossSite("The request changes something and does not prove that this page sent it.")


def _same_host(request: Request) -> bool:
    """Tell whether the request's origin, where it names one, is the host that it was sent to."""
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.headers.get("host")


def same(given: str, expected: str) -> bool:
    """Compare two secrets in a time that tells nothing, whatever characters were given."""
    return bool(given) and hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


@dataclass(slots=True)
class LoopbackLogin:
    """The login of a server on its own machine: a URL with a token that opens one session, and a key for programs.

    The person at the machine is ``os:<user>``. The token in the URL works once; after that the browser holds a cookie.
    """

    actor: Actor
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    key: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    """The bearer key for programs of the same user; never printed unless asked for."""
    cookie: str = COOKIE
    """The cookie's name. Cookies know no ports: two servers on one machine need two names."""
    _session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _spent: str = ""

    def authenticate(self, request: Request) -> Actor | None:
        """Know the session cookie or the bearer key."""
        if same(request.cookies.get(self.cookie, ""), self._session):
            return self.actor
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        return self.actor if scheme.lower() == "bearer" and same(given, self.key) else None

    def open_session(self, token: str) -> str | None:
        """Give the session's cookie value for an unused token; ``None`` for any other."""
        if self._spent or not same(token, self.token):
            return None
        self._spent = token
        return self._session


class OwnHosts:
    """Answers only requests that were sent to one of our own names, so that another site's name that resolves to this machine is not us."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        """Let in what is addressed to ``hosts``, names without a port, on any port."""
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "http":
            try:
                name = urlsplit(f"//{Request(scope).headers.get('host', '')}").hostname
            except ValueError:
                name = None
            if name not in self._hosts:
                remedy = f"Use one of {', '.join(sorted(self._hosts))}."
                refusal = Refused(421, "wrong-host", "This server does not answer under that name", remedy=remedy)
                await refusal.answer()(scope, receive, send)
                return
        await self._app(scope, receive, send)
