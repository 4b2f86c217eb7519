"""Pipes: named projections from records to the columns of a table, compiled to DuckDB SQL."""
