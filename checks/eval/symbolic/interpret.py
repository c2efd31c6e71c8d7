"""The names by which other packages know the symbolic run; `executor` and `run` hold them."""

from __future__ import annotations

from checks.eval.symbolic.executor import Interpreter
from checks.eval.symbolic.parameters import is_buffer, keys_of
from checks.eval.symbolic.run import Watch

__all__ = ["Interpreter", "Watch", "is_buffer", "keys_of"]
