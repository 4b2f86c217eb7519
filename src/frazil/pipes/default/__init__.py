"""The default pipe `<TABLE>-STREAMING`: which keys go to which columns, and whether records fit them."""
