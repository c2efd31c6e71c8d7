"""Python files: `ast`, or tree-sitter-python where one does not parse, lowered to the common IR."""
