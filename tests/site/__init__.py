"""The documentation site: its generated pages, its build, and every command in it."""
