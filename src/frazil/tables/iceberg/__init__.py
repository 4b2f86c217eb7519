"""The only place that talks to Iceberg: catalog, tables, the swap, and what is left on disks."""
