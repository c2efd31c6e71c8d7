"""Where in a file a definition stands."""

from __future__ import annotations

from dataclasses import dataclass

from tree_sitter import Node

# Node types of `#if` and its arms.
PREPROCESSOR_ARMS = frozenset(
    {"preproc_if", "preproc_ifdef", "preproc_elif", "preproc_elifdef", "preproc_else"}
)


@dataclass(frozen=True, slots=True)
class DefinitionScope:
    """What is around a definition.

    `names` are namespaces and classes, `owner` the innermost class, `marks` holds `extern "C"`,
    `template` is the template declaration that it belongs to, `guard` the text of the `#if`s.
    """

    names: tuple[str, ...] = ()
    owner: str = ""
    marks: tuple[str, ...] = ()
    template: Node | None = None
    guard: str = ""

    def start_of(self, node: Node) -> Node:
        """Where the definition at `node` begins: at its `template<...>`, if it has one."""
        return self.template if self.template is not None else node
