"""A definition that a name may mean, and the place in which an expression is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field

from checks.core.finding import Location
from checks.lang.ir.expr import Expr
from checks.lang.ir.source_file import Function, SourceFile


@dataclass
class EvalScope:
    """Where an expression stands.

    `env` are the parameters of a macro or function that is being expanded, `site` the file that
    uses the macro. `trace` collects the definitions that the value rests on.
    """

    unit: SourceFile
    function: Function | None = None
    owner: str = ""
    env: dict[str, object] = field(default_factory=dict)
    site: SourceFile | None = None
    trace: list[Location] = field(default_factory=list)

    @property
    def function_name(self) -> str:
        """The qualified name of the function; empty outside of functions."""
        return self.function.qualname if self.function else ""


@dataclass(frozen=True, slots=True)
class DefinitionSite:
    """One definition: its expression and where that is to be read.

    A macro's names are looked up in its own file, then in the file that uses it (`site`).
    """

    name: str
    value: Expr | None
    unit: SourceFile
    function: Function | None
    owner: str
    type: str
    line: int
    env: dict[str, object] = field(default_factory=dict)
    site: SourceFile | None = None

    @property
    def key(self) -> tuple[object, ...]:
        """What tells it from every other definition, and from itself with other arguments."""
        site_path = self.site.path if self.site is not None else ""
        return self.unit.path, self.line, self.owner, self.name, repr(self.env), site_path
