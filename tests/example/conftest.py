"""The example's own tests run in the repository that `build` makes, not here."""

collect_ignore = ["base", "variants"]
