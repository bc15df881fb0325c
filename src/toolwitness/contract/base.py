"""What all models of the contract share: exact types, and unknown fields that survive."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from toolwitness.core.states import Origin, Owner, State


class Model(BaseModel):
    """An object of the contract. Nothing is converted (``"1"`` is no number), and unknown fields are kept (R11)."""

    model_config = ConfigDict(strict=True, extra="allow", frozen=True)

    def as_dict(self) -> dict[str, Any]:
        """Give the object as it came: its own spelling, unknown fields included, and nothing that was absent."""
        return self.model_dump(by_alias=True, exclude_unset=True)


# Strict models take enums as members only; on the wire they are words.
StateWord = Annotated[State, Field(strict=False)]
OwnerWord = Annotated[Owner, Field(strict=False)]
OriginWord = Annotated[Origin, Field(strict=False)]

Attempt = Annotated[int, Field(ge=1)]
"""The ordinal of an attempt in its lineage, from 1."""
