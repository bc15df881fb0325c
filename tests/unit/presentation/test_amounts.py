"""Money is shown as it was recorded, with the currency that cannot be mistaken."""

import pytest

from toolwitness.presentation.amounts import money


@pytest.mark.parametrize(
    ("amount", "currency", "expected"),
    [
        ("412.50", "EUR", "€ 412.50"), ("412.5", "eur", "€ 412.50"), ("412", "EUR", "€ 412.00"), ("5000", "JPY", "¥ 5000"),
        ("1.2345", "EUR", "€ 1.2345"), ("1.5", "KWD", "1.500 KWD"), ("412.50", "XYZ", "412.50 XYZ"), ("-50.00", "USD", "−US$ 50.00"),
        ("12345678.90", "CHF", "12\u202f345\u202f678.90 CHF"), (7, "GBP", "£ 7.00"), ("about 5", "EUR", "about 5 EUR"),
        ("4E2", "EUR", "4E2 EUR"),
        ("99999999999999999999.01", "EUR", "€ 99\u202f999\u202f999\u202f999\u202f999\u202f999\u202f999.01"), ("5", "euros", "5 euros"),
        ("5", None, "5"), ("5\u202e", "EUR", "5⟨U+202E⟩ EUR"), ("٥", "EUR", "٥ EUR"),
    ],
)  # fmt: skip  # a table
def test_an_amount_is_written_for_a_person_and_never_rounded(amount: object, currency: object, expected: str) -> None:
    assert money(amount, currency) == expected
