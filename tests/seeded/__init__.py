"""Bugs that are put into real trees, where nobody can have fitted a rule to them."""
