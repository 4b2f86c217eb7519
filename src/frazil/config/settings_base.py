"""What the sections of the settings share: frozen values, each field read from the keys it names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, TypeAlias

from pydantic import AliasChoices as Keys
from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo

from frazil.config import values
from frazil.secrets import MASK

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

    from_providers: frozenset[str] = frozenset()
    """Given keys whose values came from config providers. They are secrets, whatever they are."""

    def __repr_args__(self) -> Iterable[tuple[str | None, object]]:
        """The fields as they may be shown."""
        fields = type(self).model_fields
        for name, value in super().__repr_args__():
            yield name, value if self.from_providers.isdisjoint(keys_of(fields[name]) if name else ()) else MASK

    @classmethod
    def setting_keys(cls) -> list[str]:
        """Every key that one of the fields is read from."""
        return [key for field in cls.model_fields.values() for key in keys_of(field) if not key.endswith(".*")]


def keys_of(field: FieldInfo) -> list[str]:
    """The keys that `field` is read from, the first given one wins; none for a field that has no key."""
    alias = field.validation_alias
    return [str(choice) for choice in alias.choices] if isinstance(alias, Keys) else []
