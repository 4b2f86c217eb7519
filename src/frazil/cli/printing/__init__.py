"""Rows of an answer as people and programs want them: a table, JSON, CSV, Parquet; each in bounded memory."""
