"""Which tests call an op."""

from __future__ import annotations

import re

from checks.core.change import ChangeSet
from checks.core.config import Config


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
