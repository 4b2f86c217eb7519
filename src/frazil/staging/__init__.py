"""What runs inside a Spark task: read → convert → project → write. It never imports `frazil.tables`."""
