"""What can go wrong with the local servers; part of the one tree in `frazil.errors`."""

from __future__ import annotations

from pathlib import Path

from frazil.errors import Terminal


class JarsUnavailable(Terminal):
    """Kafka's jars could not be fetched."""

    code = "jars_unavailable"

    def __init__(self, coordinates: str, directory: Path, output: str) -> None:
        super().__init__(
            f"the jars of {coordinates} could not be fetched into {directory}. Check the network and proxy settings "
            f"(Java takes the latter from JAVA_TOOL_OPTIONS), then try again. Ivy's last words:\n{output}"
        )


class BrokerFailed(Terminal):
    """The local broker ended, or did not become ready."""

    code = "broker_failed"

    def __init__(self, what: str, log: Path, tail: str) -> None:
        super().__init__(
            f"the local Kafka broker {what}. Its whole log is {log}; if its directory was left by another version, "
            f"start afresh (frazil dev kafka --fresh). The log ends with:\n{tail}"
        )


class PortInUse(Terminal):
    """Somebody else listens on the port a local server is to have."""

    code = "port_in_use"

    def __init__(self, port: int) -> None:
        super().__init__(
            f"port {port} of 127.0.0.1 is in use, perhaps by another server. Stop that one, or choose another port "
            "(--port, 0 for any)."
        )
        self.port = port


class DirectoryInUse(Terminal):
    """A local server already runs on the directory."""

    code = "directory_in_use"

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"a local server already runs on {directory}. Use that one, stop it, or name another directory (--dir)."
        )


class DirectoryUnusable(Terminal):
    """A local server cannot keep its records in the directory it is to have."""

    code = "directory_unusable"

    def __init__(self, directory: Path, cause: str) -> None:
        super().__init__(
            f"a local server cannot keep its records in {directory}: {cause}. Name another directory (--dir), or make "
            "this one writable."
        )


class NotABrokerDirectory(Terminal):
    """A directory to be emptied holds something else than a local server's records."""

    code = "not_a_broker_directory"

    def __init__(self, directory: Path) -> None:
        super().__init__(
            f"{directory} is not emptied: it holds nothing of this server's. Remove it yourself, or name another "
            "directory (--dir)."
        )
