"""Options that several commands have."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter, validators

Home = Annotated[Path | None, Parameter(help="Where the embedded catalog lives; default FRAZIL_HOME or ./frazil-data.")]
Worker = Annotated[Path | None, Parameter(help="A worker file, as for connect-standalone.")]
Port = Annotated[
    int, Parameter(help="Port on 127.0.0.1; 0 picks a free one.", validator=validators.Number(gte=0, lte=65535))
]
Format = Annotated[Literal["table", "json"], Parameter(help="For people or for programs.")]


def home_of(home: Path | None) -> Path:
    """The home that is meant."""
    return home or Path(os.environ.get("FRAZIL_HOME") or "./frazil-data")
