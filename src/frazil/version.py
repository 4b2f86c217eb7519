"""The version of this package: what executors must have the same of as the driver."""

from __future__ import annotations

from typing import Final

VERSION: Final = "0.1.0"
