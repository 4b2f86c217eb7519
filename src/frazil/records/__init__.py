"""From a record's bytes to JSON text, and what is told about the record beside its value."""
