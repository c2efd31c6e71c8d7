"""`__shared__` declarations become references into memory that each block has of its own."""

from __future__ import annotations

import re
from collections.abc import Collection

from kernels.emulator.rewrite.text import closing, line_breaks, mask, split_at_top

_SHARED = re.compile(r"\b__shared__\b")
_DROPPED = re.compile(r"\b(__shared__|static|extern)\b")
_ALIGNMENT = re.compile(r"\b(?:__align__|alignas|__builtin_align__|__attribute(?:__)?)\s*\(")
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_NOT_NEWLINE = re.compile(r"[^\n]")
_MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+\w+\((?P<parameters>[^)\n]*)\)[ \t]*"
    r"(?P<body>[^\n\\]*\b__shared__\b[^\n\\]*?)[ \t;]*$",
    re.MULTILINE,
)
# A brace that opens no function: its declarations are those of the whole file.
_OUTER_BRACE = re.compile(r'(?:\bnamespace(?:\s+[\w:]+)?|\bextern\s*"[^"]*")\s*$')
_DECLARATOR = re.compile(r"(\w+)\s*((?:\[.*\])*)\s*$", re.DOTALL)


def rewrite_shared_memory(text: str) -> str:
    """`text` with every declaration rewritten; the last one first, so that positions stay."""
    text = _rewrite_macros(text)
    code = mask(text)
    matches = list(_SHARED.finditer(code))
    handled = len(code)
    outside_macros = _DIRECTIVE.sub(lambda match: _NOT_NEWLINE.sub(" ", match[0]), code)
    arrays = set()
    for match in reversed(matches):
        is_macro = outside_macros[match.start()] == " "
        around = code if is_macro else outside_macros
        start = _statement_start(around, match.start())
        end = _statement_end(around, match.end())
        if start is None or end is None or end > handled:
            continue
        handled = start
        if not is_macro and _is_outside(around, start):
            rewritten = _of_file(text[start:end], code[start:end])
        else:
            rewritten = _declaration(text[start:end], code[start:end], match.start())
        if re.search(r"\bextern\b", code[start:end]):
            arrays.add(_dynamic_parts(_DROPPED.sub("", text[start:end]))[1])
        breaks = line_breaks(text[start:end], rewritten)
        text = text[:start] + rewritten + breaks + text[end:]
    return _read_as_others(text, arrays)


def _read_as_others(text: str, arrays: Collection[str]) -> str:
    """`reinterpret_cast<Storage&>(memory)` is about the array, which is a pointer here."""
    for name in arrays:
        text = re.sub(rf"(&\s*>\s*\(\s*){re.escape(name)}(?=\s*\))", rf"\1*{name}", text)
    return text


def _rewrite_macros(text: str) -> str:
    """Macros that are one declaration: `#define BUFFER(T, name, n) __shared__ T name[n]`.

    The name is the macro's argument, so that the struct's name is made of it.
    """
    code = mask(text)
    for match in reversed(list(_MACRO.finditer(code))):
        body = match["body"]
        if ";" in body or "{" in body or re.search(r"\bextern\b", body):
            continue
        name = _name(body)
        if name not in re.split(r"[\s,()]+", match["parameters"]):
            continue
        plain = _DROPPED.sub("", body).strip()
        struct = f"emulator_shared_##{name}"
        memory = f"::emulator::shared_memory<{struct}>()"
        written = f"struct {struct} {{ {plain}; }}; auto& {name} = {memory}.{name}"
        text = text[: match.start("body")] + written + text[match.end("body") :]
    return text


def _is_outside(code: str, position: int) -> bool:
    """Whether a position is in no function and in no class."""
    depth = 0
    for index in range(position - 1, -1, -1):
        if code[index] == "}":
            depth += 1
        elif code[index] == "{" and depth > 0:
            depth -= 1
        elif code[index] == "{" and not _OUTER_BRACE.search(code[:index]):
            return False
    return True


def _of_file(text: str, code: str) -> str:
    """A declaration that all functions of the file share: of dynamic memory alone."""
    if not re.search(r"\bextern\b", code):
        raise ValueError("a __shared__ variable outside of a function is not emulated")
    kind, name, rows = _dynamic_parts(_DROPPED.sub("", text))
    if rows:
        raise ValueError("rows of __shared__ memory outside of a function are not emulated")
    return f"static const ::emulator::DynamicShared<{kind}> {name}"


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
        if code[index] == ":" and ":" not in (code[index - 1], code[index + 1]):
            # The end of a label.
            break
        index -= 2 if code[index] == ":" else 1
    return _first_word(code, index + 1)


def _first_word(code: str, start: int) -> int:
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
    kind, name, rows = _dynamic_parts(body)
    if rows:
        memory = "::emulator::dynamic_shared_memory()"
        return f"{kind} (*{name}){rows} = static_cast<{kind} (*){rows}>({memory})"
    return f"{kind}* {name} = static_cast<{kind}*>(::emulator::dynamic_shared_memory())"


def _dynamic_parts(body: str) -> tuple[str, str, str]:
    """The type of the elements, the name, and the bounds of rows."""
    plain = _without_alignment(body).strip()
    match = re.match(r"(.*?)\b(\w+)\s*\[\s*\]((?:\s*\[[^\]]*\])*)\s*$", plain, re.DOTALL)
    if match is None:
        raise ValueError(f"no array in an extern __shared__ declaration: {plain}")
    return match[1].strip(), match[2], match[3].strip()


def _without_alignment(body: str) -> str:
    match = _ALIGNMENT.search(body)
    if match is None:
        return body
    return body[: match.start()] + body[closing(body, match.end() - 1) + 1 :]
