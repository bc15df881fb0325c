"""Seals: a value with secrets becomes an envelope that only a key opens, with the copy beside it that may be shown.

The envelope is what the value table keeps and what the digest in the evidence covers. So the record verifies without any key, and no digest
of a short secret stands anywhere. The box is bound to the event and the name that the value stands under, to the key and to the shown
copy: none can be put in another's place. The same value under the same event makes the same envelope, so that a repetition is recognised.
"""

import base64
import binascii
import hmac
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final, Protocol, cast

from toolwitness.core.errors import InvalidInput, Tampered
from toolwitness.core.values import Hidden, Redacted

KEY_VARIABLE: Final = "TOOLWITNESS_SEAL_KEY"
"""The environment variable that holds the keys: base64 of 32 bytes each; the first one seals, all of them open."""
AS_IT_IS: Final = "nobody"
"""Who sealed what only begins as an envelope does: it is wrapped so that it cannot pass for one, and its box is open."""
_BEGINNING: Final = b'{"toolwitness.sealed":1,'
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
_BETWEEN: Final = re.compile(r"[\s,]+")


class _Box(Protocol):
    def encrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...

    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a sealed value stands: what its box is bound to."""

    task: str
    call: str
    source: str
    event: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A sealed value as it is stored."""

    of: Standing
    by: str
    """Which key opens the box; begins with ``memory:`` where no key was set and the secrets were never written down."""
    nonce: bytes
    box: bytes
    shown: bytes
    hidden: tuple[Hidden, ...]

    @property
    def redacted(self) -> Redacted:
        """The copy that may be shown."""
        return Redacted(self.shown, self.hidden)

    @property
    def is_written_down(self) -> bool:
        """Whether the secrets are on record at all, under a key."""
        return not self.by.startswith("memory:")


class SealKey:
    """One key: seals, and opens what it sealed. Its repr does not show it."""

    __slots__ = ("_box", "_mark", "id")

    def __init__(self, secret: bytes) -> None:
        """Take 32 random bytes.

        Raises:
            InvalidInput: the package that encrypts is not installed.
        """
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415 - the base install does without it
        except ImportError:
            raise InvalidInput(
                f"{KEY_VARIABLE} is set, and the package that seals with it is not installed.", field=KEY_VARIABLE,
                remedy="Install toolwitness[seal].",
            ) from None  # fmt: skip  # message first, facts after
        self.id = "key_" + sha256(b"toolwitness seal key id\0" + secret).hexdigest()[:32]
        self._box: _Box = AESGCM(hmac.digest(secret, b"toolwitness seal box", "sha256"))
        self._mark = hmac.digest(secret, b"toolwitness seal nonce", "sha256")

    def close(self, plain: bytes, bound: bytes) -> tuple[bytes, bytes]:
        """Give a nonce and the box; the nonce is drawn from key, place and value, so that it repeats only where all of these do."""
        nonce = hmac.digest(self._mark, sha256(bound).digest() + plain, "sha256")[:_NONCE_BYTES]
        return nonce, self._box.encrypt(nonce, plain, bound)

    def open(self, nonce: bytes, box: bytes, bound: bytes) -> bytes:
        """Open a box.

        Raises:
            Tampered: it is not what this key closed, or not in its place.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - as above

        try:
            return self._box.decrypt(nonce, box, bound)
        except (InvalidTag, ValueError):
            raise Tampered("A sealed value was changed or moved.", remedy="Run `toolwitness verify`.", place="stored_values") from None


def read_keys(text: str) -> tuple[SealKey, ...]:
    """Read the keys that ``TOOLWITNESS_SEAL_KEY`` holds, separated by commas or blanks; none where it is empty.

    Raises:
        InvalidInput: one is not 32 bytes in base64; neither it nor any part of it is repeated.
    """
    keys: list[SealKey] = []
    for number, entry in enumerate((entry for entry in _BETWEEN.split(text) if entry), start=1):
        try:
            secret = base64.b64decode(entry.replace("-", "+").replace("_", "/") + "=" * (-len(entry) % 4), validate=True)
        except (binascii.Error, ValueError):
            secret = b""
        if len(secret) != _KEY_BYTES:
            raise InvalidInput(
                f"Key {number} in {KEY_VARIABLE} is not {_KEY_BYTES} bytes in base64.", field=KEY_VARIABLE,
                remedy='Make one: python -c "import base64, os; print(base64.b64encode(os.urandom(32)).decode())".',
            )  # fmt: skip  # message first, facts after
        keys.append(SealKey(secret))
    return tuple(keys)


def bound_by(of: Standing, by: str, shown: bytes, hidden: Sequence[Hidden]) -> bytes:
    """Give the bytes that a box is bound to."""
    told = [1, by, of.task, of.call, of.source, of.event, of.name, sha256(shown).hexdigest(), [[h.at, h.by] for h in hidden]]
    return json.dumps(told, separators=(",", ":")).encode()


def write_envelope(envelope: Envelope) -> bytes:
    """Write an envelope as the bytes of a value."""
    of = envelope.of
    said: dict[str, Any] = {
        "by": envelope.by,
        "of": {"task": of.task, "call": of.call, "source": of.source, "event": of.event, "name": of.name},
        "nonce": base64.b64encode(envelope.nonce).decode(),
        "box": base64.b64encode(envelope.box).decode(),
        "hidden": [{"at": hidden.at, "by": hidden.by} for hidden in envelope.hidden],
        "shown": envelope.shown.decode("utf-8", "surrogatepass"),
    }
    return _BEGINNING + json.dumps(said, separators=(",", ":"), ensure_ascii=True)[1:].encode()


def looks_sealed(raw: bytes) -> bool:
    """Tell whether bytes begin as an envelope does; what somebody else wrote so is never taken for one."""
    return raw.startswith(_BEGINNING)


def read_envelope(raw: bytes) -> Envelope | None:
    """Read an envelope; ``None`` for every other value.

    Raises:
        Tampered: it begins as an envelope and is none.
    """
    if not looks_sealed(raw):
        return None
    try:
        said = cast("Mapping[str, Any]", json.loads(raw))
        return Envelope(
            of=Standing(**said["of"]), by=str(said["by"]), nonce=base64.b64decode(said["nonce"]), box=base64.b64decode(said["box"]),
            shown=str(said["shown"]).encode("utf-8", "surrogatepass"),
            hidden=tuple(Hidden(at=str(one["at"]), by=str(one["by"])) for one in said["hidden"]),
        )  # fmt: skip  # one field after the other
    except (ValueError, TypeError, KeyError):
        raise Tampered("A sealed value cannot be read.", remedy="Run `toolwitness verify`.", place="stored_values") from None
