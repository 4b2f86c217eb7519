"""A SELECT in Snowflake's flavour becomes Spark SQL.

The text is parsed (`dialect`), held against the list of what may be in a query (`allow`), and written anew (`select`,
`relations`, `expressions`). Nothing of the user's text reaches Spark but literals and the names of what exists:
columns are looked up (`scope`) and written by their full names, everything the user names gets a name of ours. Types
come from the tables and, for expressions, from Spark itself (`types`), so that a path is read by the type of what it
starts from (`paths`).
"""
