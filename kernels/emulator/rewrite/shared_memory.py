"""`__shared__` declarations become references into memory that each block has of its own."""

from __future__ import annotations

import re

from kernels.emulator.rewrite.text import closing, line_breaks, mask, split_at_top

_SHARED = re.compile(r"\b__shared__\b")
_DROPPED = re.compile(r"\b(__shared__|static|extern)\b")
_ALIGNMENT = re.compile(r"\b(?:__align__|alignas|__builtin_align__)\s*\(")
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[.*\])*)\s*$", re.DOTALL)


def rewrite_shared_memory(text: str) -> str:
    """`text` with every declaration rewritten; the last one first, so that positions stay."""
    code = mask(text)
    matches = list(_SHARED.finditer(code))
    handled = len(code)
    for match in reversed(matches):
        start = _statement_start(code, match.start())
        end = _statement_end(code, match.end())
        if start is None or end is None or end > handled:
            continue
        handled = start
        rewritten = _declaration(text[start:end], code[start:end], match.start())
        breaks = line_breaks(text[start:end], rewritten)
        text = text[:start] + rewritten + breaks + text[end:]
    return text


def _statement_start(code: str, position: int) -> int | None:
    """After the `;` or brace before; None where the word is in a parameter list or a macro."""
    index = position - 1
    while index >= 0 and code[index] not in ";{}":
        if code[index] == ")":
            # alignas(16) stands before.
            index = _alignment_start(code, index)
            if index < 0:
                return None
        if code[index] in "(,#":
            return None
        index -= 1
    start = index + 1
    while code[start].isspace() or code[start] == "\\":
        start += 1
    return start


def _alignment_start(code: str, closes: int) -> int:
    before = code.rfind("(", 0, closes)
    name = re.search(r"(\w+)\s*$", code[:before])
    if name is None or not _ALIGNMENT.match(name[1] + "("):
        return -1
    return name.start()


def _statement_end(code: str, position: int) -> int | None:
    index = position
    while index < len(code) and code[index] != ";":
        if code[index] in "([{":
            index = closing(code, index)
        elif code[index] in ")}":
            return None
        index += 1
    return index


def _declaration(text: str, code: str, number: int) -> str:
    """The statement without its `;`."""
    body = _DROPPED.sub("", text)
    body_code = _DROPPED.sub("", code)
    if re.search(r"\bextern\b", code):
        return _dynamic(body)
    first, *others = [body_code[a:b] for a, b in split_at_top(body_code, ",")]
    names = [_name(first), *(_name(part) for part in others)]
    struct = f"emulator_shared_{number}"
    memory = f"::emulator::shared_memory<{struct}>()"
    references = " ".join(f"auto& {name} = {memory}.{name};" for name in names)
    return f"struct {struct} {{ {body.strip()}; }}; {references}".removesuffix(";")


def _name(declarator: str) -> str:
    match = _DECLARATOR.search(declarator.strip())
    if match is None:
        raise ValueError(f"no name in a __shared__ declaration: {declarator.strip()}")
    return match[1]


def _dynamic(body: str) -> str:
    """All declarations of a block's dynamic memory are the same memory."""
    plain = _without_alignment(body).strip()
    match = re.match(r"(.*?)\b(\w+)\s*\[\s*\]((?:\s*\[[^\]]*\])*)\s*$", plain, re.DOTALL)
    if match is None:
        raise ValueError(f"no array in an extern __shared__ declaration: {plain}")
    kind, name, rows = match[1].strip(), match[2], match[3].strip()
    if rows:
        memory = "::emulator::dynamic_shared_memory()"
        return f"{kind} (*{name}){rows} = static_cast<{kind} (*){rows}>({memory})"
    return f"{kind}* {name} = static_cast<{kind}*>(::emulator::dynamic_shared_memory())"


def _without_alignment(body: str) -> str:
    match = _ALIGNMENT.search(body)
    if match is None:
        return body
    return body[: match.start()] + body[closing(body, match.end() - 1) + 1 :]
