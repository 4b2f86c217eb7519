"""Rejected records, where they are kept, and brought through the pipes of their tables once more."""
