"""Inline PTX: a few instructions have a meaning here; every other one is refused by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from kernels.emulator.rewrite.text import closing, line_breaks, mask, split_at_top

_ASM = re.compile(r"\b(?:__asm__|asm)\b\s*(?:__volatile__\s*|volatile\s*)?\(")
_LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')
_OPERAND = re.compile(r'^\s*"[^"]*"\s*\((.*)\)\s*$', re.DOTALL)
_NOTHING = "(void)0"
_WAIT = "::emulator::wait_for_block({}, {}, 0, {{__FILE__, __LINE__}})"

Operands = list[str]


def _load(operands: Operands) -> str:
    """A load that others may be waited for with: they get their turn."""
    return f"(::emulator::let_others_run(), {operands[0]} = *({operands[1]}))"


def _store_second(operands: Operands) -> str:
    return f"*({operands[1]}) = {operands[0]}"


def _store_first(operands: Operands) -> str:
    return f"*({operands[0]}) = {operands[1]}"


def _exactly(bits: int, to: str, source: str) -> str:
    """A copy of so many bits, of one type on both sides: PTX has no types to convert."""
    plain = "::std::remove_cv_t<::std::remove_reference_t<decltype({})>>"
    same = f"::std::is_same_v<{plain.format(to)}, {plain.format(source)}>"
    check = f'static_assert({same} && sizeof({to}) == {bits // 8}, "not emulated: PTX")'
    return f"do {{ {check}; {to} = {source}; }} while (0)"


def _load_global(bits: int, operands: Operands) -> str:
    return _exactly(bits, operands[0], f"(*({operands[1]}))")


def _store_global(bits: int, operands: Operands) -> str:
    return _exactly(bits, f"(*({operands[0]}))", operands[1])


# What a cache is told of an access has no meaning here.
_HINTS = r"(?:\.(?:nc|ca|cg|cs|cv|lu|wb|wt|L[12]::\w+))*"
_PLAIN: list[tuple[str, Callable[[Operands], str]]] = []
for _bits in (8, 16, 32, 64):
    _type = rf"\.[busf]{_bits}"
    _PLAIN += [
        (rf"ld\.global{_HINTS}{_type} %0, ?\[%1\]", partial(_load_global, _bits)),
        (rf"st\.global{_HINTS}{_type} \[%0\], ?%1", partial(_store_global, _bits)),
    ]

_MEANINGS: list[tuple[str, Callable[[Operands], str]]] = [
    (r"griddepcontrol\.(?:wait|launch_dependents)", lambda _: _NOTHING),
    (r"(?:membar|fence)[.\w]*", lambda _: _NOTHING),
    (r"bar\.sync %0", lambda o: _WAIT.format(o[0], 0)),
    (r"(?:bar|barrier)\.sync %0, ?%1", lambda o: _WAIT.format(o[0], o[1])),
    (
        r"(?:bar|barrier)\.arrive %0, ?%1",
        lambda o: f"::emulator::arrive_at_block({o[0]}, {o[1]}, {{__FILE__, __LINE__}})",
    ),
    (r"ld\.(?:acquire|relaxed|volatile)[.\w]* %0, ?\[%1\]", _load),
    (r"st\.(?:release|relaxed|volatile)[.\w]* \[%1\], ?%0", _store_second),
    (r"st\.(?:release|relaxed|volatile)[.\w]* \[%0\], ?%1", _store_first),
    (r"mov\.[us]32 %0, %%?laneid", lambda o: f"{o[0]} = ::emulator::current().lane()"),
    (r"mov\.[us]32 %0, %%?warpid", lambda o: f"{o[0]} = ::emulator::current().warp()"),
    (r"nanosleep\.u32 \S+", lambda _: "::emulator::let_others_run()"),
    *_PLAIN,
]


def rewrite_assembly(text: str) -> str:
    """`text` with its `asm` statements rewritten; the last one first, so that positions stay."""
    code = mask(text)
    for match in reversed(list(_ASM.finditer(code))):
        end = closing(code, match.end() - 1)
        inner = slice(match.end(), end)
        statement = _statement(text[inner], code[inner], match.start())
        breaks = line_breaks(text[match.start() : end], statement)
        text = text[: match.start()] + statement + breaks + text[end + 1 :]
    return text


def _statement(text: str, code: str, number: int) -> str:
    parts = [text[a:b] for a, b in split_at_top(code, ":")]
    instruction = " ".join(_LITERAL.findall(parts[0]))
    instruction = re.sub(r"\\[nt]|\s+", " ", instruction).strip(" ;{}")
    operands = _operands(parts[1:3])
    for pattern, meaning in _MEANINGS:
        if re.fullmatch(pattern, instruction) and operands is not None:
            return meaning(operands)
    name = re.sub(r"[^\w.,%\[\] ]", "", instruction)[:60]
    refusal = f'extern void emulator_ptx_{number}() __attribute__((error("PTX: {name}")))'
    return f"do {{ {refusal}; emulator_ptx_{number}(); }} while (0)"


def _operands(parts: list[str]) -> Operands | None:
    """The expressions, outputs first, as `%0`, `%1` count them. None if they are not understood."""
    operands = []
    for part in parts:
        if not part.strip():
            continue
        for start, end in split_at_top(mask(part), ","):
            match = _OPERAND.match(part[start:end])
            if match is None:
                return None
            operands.append(f"({match[1]})")
    return operands
