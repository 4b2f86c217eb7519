"""Statements that define tables, as values: CREATE, ALTER and DROP TABLE."""
