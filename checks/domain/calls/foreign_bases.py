"""What classes inherit from bases that are not in the tree, and that everybody knows."""

from __future__ import annotations

import enum
from typing import NamedTuple

from checks.domain.calls.layers import LAYER_ATTRIBUTES, LAYERS


class _Row(NamedTuple):
    pass


_EXCEPTIONS = (Exception, RuntimeError, ValueError, TypeError, KeyError, OSError)
_BUILT_IN = (*_EXCEPTIONS, dict, list, tuple, set, str, int, float)
# What an enumeration, or its class, answers besides its members.
_OF_ENUMS = frozenset(dir(enum.Enum)) | frozenset(dir(enum.EnumMeta)) | {"name", "value"}
_OF_ENUMS |= {"_name_", "_value_", "_missing_", "_generate_next_value_", "_ignore_", "_order_"}
_KNOWN = {base.__name__: frozenset(dir(base)) for base in _BUILT_IN}
_KNOWN |= dict.fromkeys(("Enum", "IntEnum", "StrEnum"), _OF_ENUMS | frozenset(dir(int)))
_KNOWN["StrEnum"] |= frozenset(dir(str))
_KNOWN["NamedTuple"] = frozenset(dir(_Row))
# Bases whose objects are made without an `__init__` in the tree.
MADE_WITHOUT_INIT = frozenset({"Enum", "IntEnum", "StrEnum", "NamedTuple"})


def inherited_attributes(base: str) -> frozenset[str] | None:
    """What a class has from the base that the file calls `base`; None where that is not known."""
    if base in LAYERS:
        return LAYER_ATTRIBUTES
    return _KNOWN.get(base.rsplit(".", 1)[-1])
