"""Parse every file below a folder with `ast` or tree-sitter: the floor of any tool that reads them.

python -m tests.bench.parse_only FOLDER
"""

from __future__ import annotations

import ast
import sys
import warnings
from pathlib import Path

import tree_sitter
import tree_sitter_cuda


def main() -> None:
    warnings.simplefilter("ignore")
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    for path in sorted(Path(sys.argv[1]).rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".py":
            parse_python(data)
        else:
            parser.parse(data)


def parse_python(data: bytes) -> None:
    """As the review does: a file that Python refuses is no reason to stop."""
    try:
        ast.parse(data)
    except (SyntaxError, ValueError):
        return


if __name__ == "__main__":
    main()
