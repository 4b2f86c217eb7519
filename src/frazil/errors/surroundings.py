"""What a connector or a command needs around it and does not find: sessions, catalogs, programs."""

from __future__ import annotations

from collections.abc import Sequence

from frazil.errors.tree import Terminal, Transient


class SparkConnectRefused(Terminal):
    """The session is a Spark Connect session, which has no JVM in reach."""

    code = "spark_connect"

    def __init__(self) -> None:
        super().__init__(
            "this Spark session is a Spark Connect session, which has no JVM handle, and frazil commits through the "
            "JVM. Pass a classic session (SparkSession.builder.master(...)) instead; unset SPARK_REMOTE and "
            "spark.api.mode, which have Spark make the other kind."
        )


class StillStopping(Transient):
    """A connector was started again before its last run had ended."""

    code = "still_stopping"

    def __init__(self, connector: str) -> None:
        super().__init__(
            f"the connector {connector} was stopped, and its last run has not ended: what it reads from, or a "
            "catalog, does not answer. Nothing was started. Start it again later, or in another process, which "
            "fences this one."
        )


class SparkEnded(Terminal):
    """The JVM behind the Spark session is gone."""

    code = "spark_ended"

    def __init__(self) -> None:
        super().__init__(
            "Spark's JVM has ended, and the connector cannot go on without it. Nothing uncommitted is in the tables. "
            "Start it again; if the system ended the JVM for lack of memory, give it less to do or more memory "
            "(spark.driver.memory)."
        )


class CatalogNotIceberg(Terminal):
    """The Spark catalog of that name is missing or is not an Iceberg catalog."""

    code = "catalog"

    def __init__(self, catalog: str, reason: str) -> None:
        super().__init__(
            f"the Spark catalog {catalog!r} cannot be used: {reason}. Configure spark.sql.catalog.{catalog} as an "
            "org.apache.iceberg.spark.SparkCatalog, or leave frazil.catalog unset for the embedded one."
        )


class InvalidQuery(Terminal):
    """`frazil sql` was given something it does not run."""

    code = "query"

    def __init__(self, reason: str, place: str = "") -> None:
        """What is wrong.

        Args:
            reason: the sentence.
            place: where, with the line of the text and marks under the piece.
        """
        super().__init__(f"{reason}; {place}" if place else f"{reason}.")


class QueryCancelled(Terminal):
    """A statement was cancelled before it had answered."""

    code = "query_cancelled"

    def __init__(self, *, changes: bool = False) -> None:
        """What that means.

        Args:
            changes: whether it was one that changes tables or pipes, and the catalog had been asked for it.
        """
        if changes:
            super().__init__(
                "the statement was cancelled while the catalog carried it out, which may have happened all the same. "
                "Look at what there is, with SHOW or DESCRIBE, before you run it again."
            )
        else:
            super().__init__("the query was cancelled. It changed nothing; run it again for an answer.")


class NothingSetUp(Terminal):
    """A command needs something that was never created."""

    code = "nothing_set_up"

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")


class SparkNeeded(Terminal):
    """Something was asked without a Spark session that only a session can do."""

    code = "spark_needed"

    def __init__(self, what: str, reason: str) -> None:
        super().__init__(
            f"without a Spark session {what}: {reason}. Ask a session of your own (session.sql), or use `frazil sql`, "
            "which starts one."
        )


class ProgramMissing(Terminal):
    """A program frazil needs is not installed, or too old."""

    code = "program_missing"

    def __init__(self, program: str, found: str, remedy: str) -> None:
        super().__init__(f"{program} is needed but {found}. {remedy}")


class SparkVersionRefused(Terminal):
    """The session's Spark is not the one this pyspark belongs to."""

    code = "spark_version"

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"this Spark session runs Spark {found}, and the pyspark beside frazil is {expected}. Run frazil with that "
            f"Spark (SPARK_HOME names the one that is started), on a cluster of the same version."
        )


class IcebergRuntimeUnfit(Terminal):
    """The session has no Iceberg runtime, or one for another Spark or Scala."""

    code = "iceberg_runtime"

    def __init__(self, found: str, runtime: str) -> None:
        super().__init__(
            f"this Spark session {found}. Start it with {runtime}: spark-submit --packages {runtime}, or "
            f"spark.jars.packages before the session's JVM starts; a jar on the cluster's class path does as well."
        )


class ExecutorUnfit(Terminal):
    """An executor lacks what frazil's tasks need."""

    code = "executor_environment"

    def __init__(self, found: Sequence[str]) -> None:
        """Say what is missing where: one text for each executor."""
        super().__init__(
            f"executors cannot run frazil's tasks: {'; '.join(found)}. Give them this environment: `frazil pack "
            "environment.tar.gz`, then start with spark.archives=environment.tar.gz#environment and "
            "PYSPARK_PYTHON=./environment/bin/python; or install the same frazil there (docs/how-to/clusters.md)."
        )


class NotPackable(Terminal):
    """`frazil pack` cannot pack this environment."""

    code = "not_packable"

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")
