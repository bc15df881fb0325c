"""Making frozen records where many are made: the same objects, for a fraction of what their constructors cost.

The constructor of a frozen dataclass goes through ``object.__setattr__`` once a field. A maker fills in an open twin of the same layout
and then says what it is; from then on it is as frozen as any other.
"""

from collections.abc import Callable
from dataclasses import field, fields, make_dataclass
from typing import Any, ParamSpec, TypeVar, cast

Given = ParamSpec("Given")
Made = TypeVar("Made")


def maker(frozen: Callable[Given, Made]) -> Callable[Given, Made]:
    """Give a function that makes what the constructor of ``frozen``, a frozen dataclass with slots and no ``__post_init__``, makes."""
    kind = cast("Any", frozen)

    def freeze(made: Any) -> None:
        made.__class__ = kind

    parts = [
        (f.name, f.type, field(default=f.default, default_factory=cast("Any", f.default_factory), kw_only=f.kw_only)) for f in fields(kind)
    ]
    twin = make_dataclass(f"Open{kind.__name__}", parts, slots=True, namespace={"__post_init__": freeze})
    return cast("Callable[Given, Made]", twin)
