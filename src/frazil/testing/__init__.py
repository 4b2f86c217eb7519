"""Break frazil on purpose and see whether the table is still right.

Shipped, so that users can test their own set-up the same way; needs the `dev` extra.
"""
