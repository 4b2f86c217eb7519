"""Schema registries that do not answer, or say no."""

from __future__ import annotations

from frazil.errors.tree import Terminal, Transient


class RegistryUnavailable(Transient):
    """A schema registry did not give a schema, though it may have it."""

    code = "registry_unavailable"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"a schema registry did not give a schema: {cause}. It is asked again; check schema.registry.url and that "
            "the registry runs."
        )
        self.cause = cause


class RegistryRefused(Terminal):
    """A schema registry does not let us read schemas."""

    code = "registry_refused"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"a schema registry refused to give a schema: {cause}. Check basic.auth.user.info or bearer.auth.token of "
            "the converter, and their rights to read subjects."
        )
        self.cause = cause
