"""The JVM that Iceberg runs in: a Spark session's, or a small one of its own for commands and queries."""
