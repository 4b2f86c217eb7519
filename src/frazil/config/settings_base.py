"""What the sections of the settings share: frozen values, each field read from the keys it names."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AliasChoices as Keys
from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from frazil.config import values

Flag: TypeAlias = Annotated[bool, values.by(values.boolean)]


class SettingsBase(BaseModel):
    """Settings about one thing."""

    model_config = ConfigDict(
        frozen=True,
        validate_by_name=True,
        validate_by_alias=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
    )


def keys_of(field: FieldInfo) -> list[str]:
    """The keys that `field` is read from, the first given one wins; none for a field that has no key."""
    alias = field.validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, Keys) else []
