"""Which tests call an op."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.config import Config

_REGISTRATION = re.compile(r"\bPD_BUILD_(?:STATIC_)?OP\(\s*(\w+)")


def has_tested_neighbour(path: str, change: ChangeSet, config: Config) -> bool:
    """Whether a test calls any op that is registered in the folder of `path` or below it.

    Where none does, the ops have no tests that one more could stand beside: they need hardware
    or processes that the repository's tests do not have.
    """
    folder = path.rpartition("/")[0] + "/"
    for source in change.head.paths_containing("SetKernelFn", "cpp"):
        if not source.startswith(folder):
            continue
        text = (change.head.read(source) or b"").decode("utf-8", "replace")
        if any(is_tested(op, change, config) for op in _REGISTRATION.findall(text)):
            return True
    return False


def is_tested(op: str, change: ChangeSet, config: Config) -> bool:
    """Whether a test of the head calls the op, or imports it to do so.

    A stub of the same name and a patch of it (`"ops.save_rows"`) do not count.
    """
    word = re.escape(op)
    call = rf"(?<!def )(?<![\"'\w]){word}\s*\("
    import_line = rf"\bimport\b.*\b{word}\b"
    # The op's line in an import over several lines.
    import_item = rf"^\s*{word},?\s*(#.*)?$"
    use = re.compile(f"{call}|{import_line}|{import_item}")
    for match in change.head.find(op):
        is_comment = match.text.lstrip().startswith("#")
        if config.is_test(match.path) and not is_comment and use.search(match.text):
            return True
    return False
