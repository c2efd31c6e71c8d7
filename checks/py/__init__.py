"""Python: the standard `ast`, tree-sitter-python where a file does not parse, and the lowering to the common IR."""
