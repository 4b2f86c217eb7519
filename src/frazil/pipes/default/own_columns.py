"""Whether a record that has new keys becomes a row once they have columns: one that does not gives a table none."""

from __future__ import annotations

from frazil.model import Column, Conversion, Drift
from frazil.pipes.default.exact_validation import ExactValidation
from frazil.pipes.default.pipe import DefaultPipe
from frazil.pipes.evolution import columns_for, unambiguous
from frazil.records.rejects import RejectReason


def misfit(text: str, seen: Drift, pipe: DefaultPipe, conversion: Conversion) -> RejectReason | None:
    """Why a record is no row even of a table that has the columns its own keys would be given; None if it is one.

    Other records may make a column wider, so that a record fits that does not by itself: then its keys are found when
    it is staged for that column.

    Args:
        text: the record's value.
        seen: what its new keys look like.
        pipe: the projection to the table as it is.
        conversion: the rules as the connector has configured them.
    """
    added = unambiguous(columns_for(seen, conversion.nested_type, pipe.name_for), pipe.columns)
    columns = (*pipe.columns, *(Column(0, name, kind) for name, kind in added.items()))
    verdict = ExactValidation(DefaultPipe(columns, pipe.normalizes), conversion, {}, keeps_unknown=True).judge(text)
    return verdict if isinstance(verdict, RejectReason) else None
