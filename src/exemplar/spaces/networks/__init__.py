"""The networks themselves: one architecture per file, and one table of them all."""
