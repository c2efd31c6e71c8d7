"""What classes inherit from bases that are not in the tree, and that everybody knows."""

from __future__ import annotations

import builtins
import collections.abc
import enum
from typing import NamedTuple

from checks.domain.calls.layers import LAYER_ATTRIBUTES, LAYERS
from checks.domain.calls.models import MODEL_ATTRIBUTES


class _Row(NamedTuple):
    pass


# Objects of these classes have no attributes but those of their class. Others of `collections.abc`
# have names that are not theirs alone (`Container`, `Generator`).
_PLAIN: list[object] = [
    *vars(builtins).values(),
    collections.OrderedDict,
    collections.defaultdict,
    collections.abc.Iterable,
    collections.abc.Iterator,
    collections.abc.Mapping,
    collections.abc.MutableMapping,
    collections.abc.MutableSequence,
    collections.abc.Sequence,
]
# What an enumeration, or its class, answers besides its members.
_OF_ENUMS = frozenset(dir(enum.Enum)) | frozenset(dir(enum.EnumMeta)) | {"name", "value"}
_OF_ENUMS |= {"_name_", "_value_", "_missing_", "_generate_next_value_", "_ignore_", "_order_"}
_KNOWN = {base.__name__: frozenset(dir(base)) for base in _PLAIN if isinstance(base, type)}
_KNOWN |= dict.fromkeys(("Enum", "IntEnum", "StrEnum"), _OF_ENUMS | frozenset(dir(int)))
_KNOWN["StrEnum"] |= frozenset(dir(str))
_KNOWN["NamedTuple"] = frozenset(dir(_Row))
_KNOWN["BaseModel"] = MODEL_ATTRIBUTES
# Bases whose objects are made without an `__init__` in the tree.
MADE_WITHOUT_INIT = frozenset({"Enum", "IntEnum", "StrEnum", "NamedTuple", "BaseModel"})


def inherited_attributes(base: str) -> frozenset[str] | None:
    """What a class has from the base that the file calls `base`; None where that is not known."""
    if base in LAYERS:
        return LAYER_ATTRIBUTES
    return _KNOWN.get(base.rsplit(".", 1)[-1])
