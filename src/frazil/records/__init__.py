"""From a record's bytes to JSON text, and what is known of the record beside its value."""
