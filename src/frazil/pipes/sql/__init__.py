"""Pipes that users write in SQL."""
