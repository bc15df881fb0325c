"""Names that sound secret: what is redacted without anybody having declared it.

A name is read word by word (``apiKey``, ``api-key`` and ``API_KEY`` are one), and its last words decide: ``card_number`` is secret,
``card_number_length`` is not.
"""

import re
from functools import lru_cache
from typing import Final

SECRET_NAMES: Final = (
    "password", "passwd", "pwd", "passphrase", "passcode", "password confirmation", "secret", "token", "apikey", "api key", "access key",
    "secret key", "private key", "signing key", "encryption key", "secret access key", "authorization", "proxy authorization", "cookie",
    "credential", "bearer", "jwt", "otp", "card number", "cardnumber", "credit card", "cc number", "card pin", "pin code", "cvv", "cvc",
    "cvv2", "cvc2", "iban", "account number", "ssn", "social security number", "passport number", "connection string", "recovery code",
)  # fmt: skip  # names in lines
"""The last words of a name that make it secret; the plural of each does so too."""
PLAIN_NAMES: Final = (
    "page token", "next token", "continuation token", "sync token", "cancellation token", "cancel token", "stop token",
    "idempotency token", "request token", "client token", "idempotency key",
)  # fmt: skip  # names in lines
"""Names that end like a secret one and hold none: they say where to go on, or that two requests are one."""

_HINTS: Final = (
    b"pass", b"pwd", b"secret", b"token", b"key", b"authorization", b"cookie", b"credential", b"bearer", b"jwt", b"otp", b"card", b"number",
    b"pin", b"cvv", b"cvc", b"iban", b"ssn", b"string", b"code", b"\\u",
    b"\xe2\x84\xaa",
)  # fmt: skip  # hints in lines
"""In lower case, one of these is in whatever holds a secret name: written plainly, or with an escape that could spell one, or with
the sign of Kelvin, whose lower case is the letter k."""
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BREAK: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 200


def may_be_named(raw: bytes) -> bool:
    """Tell whether bytes can hold a secret name at all: quick, and never wrong where it says no."""
    small = raw.lower()
    return any(hint in small for hint in _HINTS)


@lru_cache(maxsize=4_096)
def is_secret_name(name: str) -> bool:
    """Tell whether a member of this name is secret unless somebody says otherwise."""
    words = [word for word in _BREAK.split(_HUMP.sub(" ", name[-_LONGEST:]).lower()) if word]
    if not words or _ends(words, _PLAIN):
        return False
    return _ends(words, _SECRET) or _ends([*words[:-1], words[-1].removesuffix("s")], _SECRET)


def _ends(words: list[str], endings: frozenset[tuple[str, ...]]) -> bool:
    return any(tuple(words[-length:]) in endings for length in range(1, 4))


_SECRET: Final = frozenset(tuple(name.split(" ")) for name in SECRET_NAMES)
_PLAIN: Final = frozenset(tuple(name.split(" ")) for name in PLAIN_NAMES)
