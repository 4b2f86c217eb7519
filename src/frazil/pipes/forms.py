"""The forms of metadata that there are, by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from frazil.model import Column, Conversion
from frazil.pipes.kinesis_metadata import KINESIS
from frazil.pipes.metadata_form import MetadataForm
from frazil.pipes.record_metadata import RECORD

_FORMS: Final = {form.column: form for form in (RECORD, KINESIS)}


def form_of(conversion: Conversion) -> MetadataForm:
    """What is recorded of records that are converted so."""
    return _FORMS[conversion.metadata_column]


def form_named(column: str) -> MetadataForm:
    """The form of a column's name, as `Conversion.metadata_column` has it."""
    return _FORMS[column]


def form_for(columns: Iterable[Column]) -> MetadataForm:
    """The form that a table of these columns was made for; RECORD_METADATA where they do not say."""
    names = [column.name for column in columns]
    return next((form for form in _FORMS.values() if any(map(form.is_name, names))), RECORD)
