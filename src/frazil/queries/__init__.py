"""SELECTs over the tables: planned by Iceberg in a JVM, read by DuckDB."""
