"""`kernel<<<grid, block, shared, stream>>>(arguments)` becomes a call of the runtime."""

from __future__ import annotations

import re
from collections.abc import Callable

from kernels.emulator.rewrite.text import closing, line_breaks, mask, opening

_NAME_END = re.compile(r"[\w:]")
# A kernel's address without its type: here the type says how many arguments there are.
_UNTYPED_KERNEL = re.compile(
    r"(\bcudaLaunch(?:Cooperative)?Kernel\s*\(\s*)"
    r"(?:\(\s*(?:const\s+)?void\s*\*\s*\)|reinterpret_cast<\s*(?:const\s+)?void\s*\*\s*>)"
)
_NULL = re.compile(r"\bNULL\b")

# The call for a launch: of the kernel, its shape, and its arguments.
WriteLaunch = Callable[[str, str, str], str]


def launch_on_gpu(kernel: str, shape: str, arguments: str) -> str:
    """The runtime runs the kernel's threads."""
    separator = ", " if arguments.strip() else ""
    call = f"[&](auto&... emulator_arguments) {{ {kernel}(emulator_arguments...); }}"
    return f'::emulator::Launch({shape}).run("{_quoted(kernel)}", {call}{separator}{arguments})'


def refuse_xpu_launch(kernel: str, _shape: str, _arguments: str) -> str:
    """A kernel in another language, whose file is not part of this one: it is refused by name."""
    return f'::emulator::refuse_xpu_kernel("{_quoted(kernel)}")'


def _quoted(kernel: str) -> str:
    return re.sub(r"\s+", " ", kernel).replace("\\", "").replace('"', "'")


def rewrite_launches(text: str, write: WriteLaunch = launch_on_gpu) -> str:
    """`text` with every launch rewritten; the last one first, so that positions stay."""
    text = _UNTYPED_KERNEL.sub(r"\1", text)
    code = mask(text)
    position = len(code)
    while True:
        position = code.rfind("<<<", 0, position)
        if position < 0:
            return text
        text = _rewrite_launch(text, code, position, write)
        code = mask(text)


def _rewrite_launch(text: str, code: str, position: int, write: WriteLaunch) -> str:
    start = _kernel_start(code, position)
    end_of_shape = _end_of_shape(code, position + 3)
    opens = code.index("(", end_of_shape)
    closes = closing(code, opens)
    kernel = text[start:position].strip().removesuffix("\\").strip()
    shape = text[position + 3 : end_of_shape]
    arguments = _NULL.sub("nullptr", text[opens + 1 : closes])
    launch = write(kernel, shape, arguments)
    breaks = line_breaks(text[start : closes + 1], launch)
    return text[:start] + launch + breaks + text[closes + 1 :]


def _kernel_start(code: str, position: int) -> int:
    """Where the expression before `<<<` begins: a name, a template's name, or a parenthesis."""
    index = _last_code(code, position - 1)
    if code[index] == ">":
        index = _last_code(code, opening(code, index, "<>") - 1)
    if code[index] == ")":
        return opening(code, index, "()")
    if code[index] == "]":
        # A kernel of a table.
        index = _last_code(code, opening(code, index, "[]") - 1)
    while index >= 0 and _NAME_END.match(code[index]):
        index -= 1
        # A namespace may stand on the line before.
        if code[index + 1] != ":" and code[: index + 1].rstrip().endswith("::"):
            index = _last_code(code, index)
    return index + 1


def _last_code(code: str, index: int) -> int:
    while code[index].isspace() or code[index] == "\\":
        index -= 1
    return index


def _end_of_shape(code: str, position: int) -> int:
    """The `>>>` that stands in no parenthesis."""
    index = position
    while not code.startswith(">>>", index):
        if code[index] in "([{":
            index = closing(code, index)
        index += 1
    return index
