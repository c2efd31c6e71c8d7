"""The tree-sitter grammar for C++ and CUDA."""

from __future__ import annotations

from functools import cache

import tree_sitter_cuda
from tree_sitter import Language, Node, Parser


def syntax_tree(code: bytes) -> Node:
    """The root of the syntax tree of masked source."""
    return _parser().parse(code).root_node


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cuda.language()))
