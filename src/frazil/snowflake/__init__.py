"""Snowflake's SQL, read and rendered for DuckDB: for queries over tables, and for pipes."""
