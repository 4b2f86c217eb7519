"""Routing by the value of a field: what a record's value is, and which table it leads to. Pure rules."""
