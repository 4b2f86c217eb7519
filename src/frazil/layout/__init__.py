"""What partition specs and sort orders make of rows: SQL for Iceberg's transforms, and what partitions are called."""
