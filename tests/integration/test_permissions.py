"""Permissions of what is written to a local disk below a table: those that Hadoop is asked for."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from frazil.tables.iceberg.syncing import syncing_by


def test_files_and_directories_get_the_permissions_they_are_made_with(spark: SparkSession, tmp_path: Path) -> None:
    gateway, configuration = spark.sparkContext._gateway, spark.sparkContext._jsc.hadoopConfiguration()
    syncing_by(gateway, configuration, f"file://{tmp_path}")
    hadoop = gateway.jvm.org.apache.hadoop.fs
    system = hadoop.FileSystem.getLocal(configuration)

    def permission(mode: str) -> object:
        return hadoop.permission.FsPermission(mode)

    system.mkdirs(hadoop.Path(str(tmp_path / "closed")), permission("700"))
    (tmp_path / "sticky").mkdir()
    system.setPermission(hadoop.Path(str(tmp_path / "sticky")), permission("1755"))
    system.create(hadoop.Path(str(tmp_path / "file"))).close()
    plain = (tmp_path / "file").stat().st_mode & 0o7777
    system.setPermission(hadoop.Path(str(tmp_path / "file")), permission("440"))

    found = {path.name: path.stat().st_mode & 0o7777 for path in tmp_path.iterdir() if not path.name.startswith(".")}
    assert plain == 0o644
    assert found == {"closed": 0o700, "sticky": 0o1755, "file": 0o440}
