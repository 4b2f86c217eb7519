"""Schema registries that do not answer, or say no."""

from __future__ import annotations

from frazil.errors.tree import Terminal, Transient


class RegistryUnavailable(Transient):
    """The schema registry did not give a schema, though it may have it."""

    code = "registry_unavailable"

    def __init__(self, url: str, schema: int | str, cause: str) -> None:
        super().__init__(
            f"the schema registry at {url} did not give the schema {schema}: {cause}. It is asked again; check "
            "schema.registry.url and that the registry runs."
        )


class RegistryRefused(Terminal):
    """The schema registry does not let us read schemas."""

    code = "registry_refused"

    def __init__(self, url: str, schema: int | str, cause: str) -> None:
        super().__init__(
            f"the schema registry at {url} refused to give the schema {schema}: {cause}. Check basic.auth.user.info or "
            "bearer.auth.token of the converter, and their rights to read subjects."
        )
