"""Files of local disks that survive a power cut: synced before anything names them.

A swap has two halves. Iceberg writes the table's metadata file, and then, within the same call, has the catalog point
to it. A database syncs its own half; nobody syncs the file, nor the manifests it names. After a power cut the catalog
could point to a file of zeroes. So Hadoop's local file system, through which Iceberg writes, gets a syncing one beneath
it, which leaves everything outside the directories of our tables as it was.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import structlog

from frazil.tables.iceberg.access import LOCAL
from frazil.tables.iceberg.java import java_errors, java_message, java_type

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SyncBelow: TypeAlias = Callable[[str], None]
"""Has what is written below a location synced from now on; does nothing for one that is not local."""

_HADOOP: Final = "org.apache.hadoop.fs"
_PLAIN: Final = f"{_HADOOP}.RawLocalFileSystem"
_SYNCING: Final = "frazil.SyncingFileSystem"

_SOURCE: Final = """
package frazil;

import java.io.File;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Iterator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.Syncable;
import org.apache.hadoop.fs.permission.FsPermission;

public class SyncingFileSystem extends RawLocalFileSystem {
    private final Set directories = ConcurrentHashMap.newKeySet();

    /** Syncs what is written below a directory from now on, and the entries of those that lead to it. */
    public void syncBelow(String location) throws IOException {
        File directory = pathToFile(new Path(location));
        directories.add(directory.getPath() + "/");
        for (File each = directory; each != null; each = each.getParentFile()) {
            if (each.canRead()) syncEntries(each);
        }
    }

    private boolean isSynced(File file) {
        String path = file.getPath();
        for (Iterator each = directories.iterator(); each.hasNext();) {
            if (path.startsWith((String) each.next())) return true;
        }
        return false;
    }

    protected OutputStream createOutputStreamWithMode(Path path, boolean append, FsPermission permission)
            throws IOException {
        OutputStream stream = super.createOutputStreamWithMode(path, append, permission);
        File file = pathToFile(path);
        return isSynced(file) ? new Synced(stream, file) : stream;
    }

    protected boolean mkOneDirWithMode(Path path, File directory, FsPermission permission) throws IOException {
        boolean made = super.mkOneDirWithMode(path, directory, permission);
        if (made && isSynced(directory)) syncEntries(directory.getParentFile());
        return made;
    }

    public boolean rename(Path from, Path to) throws IOException {
        boolean done = super.rename(from, to);
        if (done && isSynced(pathToFile(to))) syncEntries(pathToFile(to).getParentFile());
        return done;
    }

    /** Does itself what Hadoop starts a chmod process for, at every file that is made. */
    public void setPermission(Path path, FsPermission permission) throws IOException {
        File file = pathToFile(path);
        if (permission.getStickyBit() || !isSynced(file)) {
            super.setPermission(path, permission);
        } else {
            Files.setPosixFilePermissions(file.toPath(), PosixFilePermissions.fromString(permission.toString()));
        }
    }

    private static void syncEntries(File directory) throws IOException {
        try {
            sync(directory, StandardOpenOption.READ);
        } catch (IOException error) {
            // Some file systems have nothing to sync in a directory, and say so.
            if (!"Invalid argument".equals(error.getMessage())) throw error;
        }
    }

    private static void sync(File file, OpenOption option) throws IOException {
        FileChannel channel = FileChannel.open(file.toPath(), new OpenOption[] { option });
        try {
            channel.force(true);
        } finally {
            channel.close();
        }
    }

    private static class Synced extends FilterOutputStream implements Syncable {
        private final File file;
        private boolean closed;

        Synced(OutputStream stream, File file) {
            super(stream);
            this.file = file;
        }

        public void write(byte[] bytes, int offset, int length) throws IOException {
            out.write(bytes, offset, length);
        }

        public void hflush() throws IOException {
            out.flush();
        }

        public void hsync() throws IOException {
            out.flush();
            sync(file, StandardOpenOption.WRITE);
        }

        public void close() throws IOException {
            if (closed) return;
            closed = true;
            out.close();
            sync(file, StandardOpenOption.WRITE);
            syncEntries(file.getParentFile());
        }
    }
}
"""

_NOT_SYNCED: Final = "files are not synced: a power cut may damage tables"

_installing = threading.Lock()
_log = structlog.get_logger(__name__)


def syncing(session: SparkSession, catalog: str) -> SyncBelow:
    """Have what Iceberg writes to local disks synced: the catalog's warehouse, and wherever the result is given."""
    warehouse = session.conf.get(f"spark.sql.catalog.{catalog}.warehouse", None)
    gateway = session.sparkContext._gateway  # noqa: SLF001 (pyspark has no public way to its gateway)
    return syncing_by(gateway, session.sparkContext._jsc.hadoopConfiguration(), warehouse)  # noqa: SLF001


def syncing_by(gateway: Any, configuration: Any, warehouse: str | None) -> SyncBelow:
    """The same in any JVM.

    Args:
        gateway: py4j's, which reaches the JVM.
        configuration: Hadoop's.
        warehouse: where the catalog keeps its tables, if that is known.
    """
    done: set[str] = set()

    def sync_below(location: str) -> None:
        if location in done or not LOCAL.match(location):
            return
        try:
            _sync_below(gateway, configuration, location)
        except java_errors() as error:
            _log.warning(_NOT_SYNCED, location=location, cause=java_message(error))
        else:
            done.add(location)

    if warehouse:
        sync_below(warehouse)
    return sync_below


def _sync_below(gateway: Any, configuration: Any, location: str) -> None:
    with _installing:
        system = _installed(gateway, configuration)
    if system is None:
        cause = "Hadoop has a file system of its own for local disks here"
        _log.warning(_NOT_SYNCED, location=location, cause=cause)
    else:
        system.syncBelow(location)


def _installed(gateway: Any, configuration: Any) -> Any:
    """The syncing file system beneath the JVM's local one; None where that has another kind."""
    jvm = gateway.jvm
    local = java_type(jvm, f"{_HADOOP}.FileSystem").getLocal(configuration)
    beneath = local.getRawFileSystem()
    if str(beneath.getClass().getName()) == _PLAIN:
        compiler = java_type(jvm, "org.codehaus.janino.SimpleCompiler")()
        compiler.cook(_SOURCE)
        kind = compiler.getClassLoader().loadClass(_SYNCING)
        nothing = java_type(jvm, "java.lang.Object")
        made = kind.getDeclaredConstructors()[0].newInstance(gateway.new_array(nothing, 0))
        made.initialize(beneath.getUri(), configuration)
        field = java_type(jvm, "java.lang.Class").forName(f"{_HADOOP}.FilterFileSystem").getDeclaredField("fs")
        field.setAccessible(True)
        field.set(local, made)
        # Nothing keeps the file system of a session that does not cache them.
        beneath = java_type(jvm, f"{_HADOOP}.FileSystem").getLocal(configuration).getRawFileSystem()
    return beneath if str(beneath.getClass().getName()) == _SYNCING else None
