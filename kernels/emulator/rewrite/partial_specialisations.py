"""A function template specialised for some of its parameters, which nvcc takes and C++ does not,
becomes an overload that is there for those types alone."""

from __future__ import annotations

import re

from kernels.emulator.rewrite.text import line_breaks, mask, split_at_top

# template <size_t n> inline void convert<float, half>(
_SPECIALISATION = re.compile(
    r"\btemplate\s*<(?P<left>[^<>;{}]+)>(?P<words>(?:\s+[\w:*&]+)+?\s+)"
    r"(?P<name>\w+)\s*<(?P<given>[^<>;{}()]+)>\s*(?=\()"
)


def rewrite_partial_specialisations(text: str) -> str:
    """`text` with such functions as overloads; the last one first, so that positions stay."""
    for match in reversed(list(_SPECIALISATION.finditer(mask(text)))):
        given = [match["given"][a:b].strip() for a, b in split_at_top(match["given"], ",")]
        names = [f"emulator_type_{number}" for number in range(len(given))]
        types = ", ".join(f"typename {name}" for name in names)
        same = [f"::std::is_same_v<{n}, {t}>" for n, t in zip(names, given, strict=True)]
        condition = f"::std::enable_if_t<{' && '.join(same)}, int> = 0"
        head = f"template <{types}, {match['left']}, {condition}>{match['words']}{match['name']}"
        head += line_breaks(text[match.start() : match.end()], head)
        text = text[: match.start()] + head + text[match.end() :]
    return text
