"""An Iceberg catalog in a JVM without Spark, as the settings of Spark describe it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any, Final

from frazil.errors import CatalogNotIceberg, CatalogUnavailable
from frazil.secrets import remember
from frazil.tables.iceberg.catalog_failures import is_misfit, is_outage
from frazil.tables.iceberg.java import java_errors, java_message, java_type
from frazil.tables.iceberg.local_files import write_no_checksum_files
from frazil.tables.jvm.catalog_settings import CatalogDefinition, NeedsSpark
from frazil.tables.jvm.plain_jvm import PlainJvm

_NOT_LOADED: Final = "Cannot initialize Catalog"
"""What Iceberg says of a class that is not there, or is no catalog."""


class Sessionless:
    """A catalog that is being opened, in a thread of its own, from the moment this is made."""

    def __init__(self, definition: CatalogDefinition, jvm: PlainJvm) -> None:
        """Open the catalog `definition` describes in a JVM, which may still be starting and ends with this."""
        self.definition = definition
        self._jvm = jvm
        self._opened: Future[tuple[Any, Any]] = Future()
        threading.Thread(target=self._open, name="frazil-catalog", daemon=True).start()

    @property
    def catalog(self) -> Any:
        """Iceberg's Java catalog, once it is open.

        Raises:
            NeedsSpark: without a session it cannot be opened.
            CatalogUnavailable: it does not answer.
            CatalogNotIceberg: Iceberg does not take what is configured.
            ProgramMissing: the JVM did not start.
        """
        return self._opened.result()[0]

    @property
    def configuration(self) -> Any:
        """Hadoop's configuration; raises what `catalog` raises."""
        return self._opened.result()[1]

    @property
    def gateway(self) -> Any:
        """py4j's, which reaches the JVM; raises what `catalog` raises."""
        self._opened.result()  # until then it is the other thread's
        return self._jvm.gateway

    def end(self) -> None:
        """End the JVM."""
        self._jvm.end()

    def _open(self) -> None:
        try:
            self._opened.set_result(open_catalog(self._jvm.gateway, self.definition))
        except BaseException as error:  # noqa: BLE001 (it is raised where the catalog is wanted)
            self._opened.set_exception(error)


def open_catalog(gateway: Any, definition: CatalogDefinition) -> tuple[Any, Any]:
    """Iceberg's Java catalog, and Hadoop's configuration, in the JVM that a gateway reaches.

    Raises:
        NeedsSpark: without a session it cannot be opened.
        CatalogUnavailable: it does not answer.
        CatalogNotIceberg: Iceberg does not take what is configured.
    """
    for settings in (definition.properties, definition.hadoop):
        remember(settings)
    jvm = gateway.jvm
    configuration = java_type(jvm, "org.apache.hadoop.conf.Configuration")()
    configuration.addResource("hive-site.xml")  # as Spark does, where there is one
    for key, text in definition.hadoop.items():
        configuration.set(key, text)
    write_no_checksum_files(jvm, configuration)
    # As Spark has it, keys are the same in any case.
    properties = java_type(jvm, "java.util.TreeMap")(java_type(jvm, "java.lang.String").CASE_INSENSITIVE_ORDER)
    for key, text in definition.properties.items():
        properties.put(key, text)
    try:
        build = java_type(jvm, "org.apache.iceberg.CatalogUtil").buildIcebergCatalog
        return build(definition.name, properties, configuration), configuration
    except TypeError as error:  # py4j takes a class that is not there for a package
        raise NeedsSpark("there is no Iceberg among the jars") from error
    except java_errors() as error:
        if is_outage(error):
            raise CatalogUnavailable(f"open the catalog {definition.name}", java_message(error)) from error
        if is_misfit(error) or _NOT_LOADED in java_message(error):
            raise NeedsSpark(java_message(error)) from error
        raise CatalogNotIceberg(definition.name, java_message(error)) from error
