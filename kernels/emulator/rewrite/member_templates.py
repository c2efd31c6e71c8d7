"""`call().member<4>(...)` becomes `call().template member<4>(...)`: nvcc asks for no such word."""

from __future__ import annotations

import re

from kernels.emulator.rewrite.text import mask

# A call, or a construction, whose member is called with template arguments.
_MEMBER = re.compile(r"\)\s*(?:\.|->)\s*(?=(?!template\b)\w+\s*<[\w\s,:]*>\s*\()")


def rewrite_member_templates(text: str) -> str:
    """`text` with the word before each such member; the last one first, so that positions stay."""
    for match in reversed(list(_MEMBER.finditer(mask(text)))):
        text = f"{text[: match.end()]}template {text[match.end() :]}"
    return text
