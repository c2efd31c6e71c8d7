"""CI runs: saved, read back, and reported on."""
