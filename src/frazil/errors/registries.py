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


class RegistryChanged(Terminal):
    """A schema registry gives another schema for an id than it gave before."""

    code = "registry_changed"

    def __init__(self, registry: str, number: int, table: str, remembered: str) -> None:
        super().__init__(
            f"the schema registry at {registry} gives another schema for the id {number} than the one that rows of "
            f"{table} were read by. Restore the registry's schemas; or, if the new one is right for all records to "
            f"come, remove the property {remembered} from the table and start the connector again."
        )
        self.registry = registry
        self.number = number


class RegistryRefused(Terminal):
    """A schema registry does not let us read schemas."""

    code = "registry_refused"

    def __init__(self, cause: str) -> None:
        super().__init__(
            f"a schema registry refused to give a schema: {cause}. Check basic.auth.user.info or bearer.auth.token of "
            "the converter, and their rights to read subjects."
        )
        self.cause = cause
