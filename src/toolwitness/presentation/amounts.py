"""Amounts of money as they were recorded: strings from end to end, never rounded and never a float.

A symbol is used only where it names one currency: ``$`` alone does not. Minor units follow ISO 4217; digits beyond them are kept, missing
ones are filled with zeros.
"""

import re
from types import MappingProxyType
from typing import Final

from toolwitness.presentation.foreign import line

_SYMBOLS: Final = MappingProxyType({
    "EUR": "€", "USD": "US$", "GBP": "£", "JPY": "¥", "CNY": "CN¥", "INR": "₹", "KRW": "₩", "CAD": "CA$", "AUD": "A$",
    "NZD": "NZ$", "HKD": "HK$", "SGD": "S$", "MXN": "MX$", "BRL": "R$", "ILS": "₪", "TRY": "₺", "UAH": "₴", "VND": "₫",
    "THB": "฿", "PHP": "₱", "NGN": "₦",
})  # fmt: skip  # a table reads better than one a line
_NO_MINOR_UNIT: Final = frozenset({
    "BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV", "XAF", "XOF", "XPF",
})  # fmt: skip  # as above
_THREE_DIGITS: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
_PLAIN: Final = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_GROUPED_FROM: Final = 5
NARROW_SPACE: Final = "\u202f"


def minor_digits(currency: str) -> int:
    """Give the number of decimals that ISO 4217 gives a currency; two where we do not know it."""
    return 0 if currency in _NO_MINOR_UNIT else 3 if currency in _THREE_DIGITS else 2


def money(amount: object, currency: object) -> str:
    """Write an amount for a person: ``€ 412.50``, ``¥ 5000``, ``412.50 XYZ``; what is not a plain number stays as it came."""
    code = str(currency or "").strip().upper()
    plain = _PLAIN.fullmatch(str(amount))
    if plain is None or not re.fullmatch("[A-Z]{3}", code):
        return " ".join(part for part in (line(amount), line(currency or "")) if part)
    sign, whole, fraction = plain.group(1), plain.group(2), plain.group(3) or ""
    decimals = fraction.ljust(minor_digits(code), "0")
    number = _grouped(whole) + (f".{decimals}" if decimals else "")
    minus = "−" if sign else ""
    return f"{minus}{_SYMBOLS[code]} {number}" if code in _SYMBOLS else f"{minus}{number} {code}"


def _grouped(digits: str) -> str:
    """Group a long run of digits in threes with a narrow space, which no country reads as a decimal sign."""
    if len(digits) < _GROUPED_FROM:
        return digits
    return re.sub(r"(?<=\d)(?=(?:\d{3})+$)", NARROW_SPACE, digits)
