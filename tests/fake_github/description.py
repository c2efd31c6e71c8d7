"""GitHub's official description of its API, from the models that githubkit generates of it.

githubkit's source has, for every operation, its name, method and path in a docstring, and the
models of its body and answers in the code. They are read from there, and an operation is taken
apart when it is first used.
"""

from __future__ import annotations

import ast
import datetime
import importlib
import json
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import githubkit_schemas.v2026_03_10.models as models
from githubkit_schemas.v2026_03_10 import rest
from pydantic import BaseModel, TypeAdapter, ValidationError

_HEADER = re.compile(r"([\w-]+/[\w-]+)\n\n\s+(GET|POST|PUT|PATCH|DELETE) (\S+)\n")


class Undescribed(Exception):
    """A request, an answer or a webhook that GitHub's description does not allow."""


@dataclass(frozen=True)
class Operation:
    """One operation: `pulls/create-review`, with the source of githubkit's method for it."""

    id: str
    method: str
    path: str
    source: str = field(repr=False)

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """For paths whose values have no slash, and for those whose `path` or `ref` may have
        some."""
        parts = re.split(r"\{(\w+)\}", self.path)

        def joined(long: frozenset[str]) -> re.Pattern[str]:
            made = [
                re.escape(t) if i % 2 == 0 else f"(?P<{t}>{'.+' if t in long else '[^/]+'})"
                for i, t in enumerate(parts)
            ]
            return re.compile("".join(made))

        return joined(frozenset()), joined(frozenset({"path", "ref"}))

    @cached_property
    def _tree(self) -> ast.FunctionDef:
        function = ast.parse(textwrap.dedent(f"    def {self.source}")).body[0]
        assert isinstance(function, ast.FunctionDef)
        return function

    @cached_property
    def query(self) -> frozenset[str]:
        """Names of the query parameters."""
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "params":
                assert isinstance(node.value, ast.Dict)
                return frozenset(k.value for k in node.value.keys if isinstance(k, ast.Constant))
        return frozenset()

    @cached_property
    def body(self) -> Any:
        """Type of the request's body, None where there is none."""
        for call in self._calls("type_validate_python"):
            return _type(call.args[0])
        return None

    @cached_property
    def answer(self) -> Any:
        """Type of a 2xx answer with a body, None where it has none."""
        return next((_type(v) for name, v in self._keywords() if name == "response_model"), None)

    @cached_property
    def errors(self) -> dict[str, Any]:
        found = next((v for name, v in self._keywords() if name == "error_models"), None)
        if not isinstance(found, ast.Dict):
            return {}
        return {
            k.value: _type(v)
            for k, v in zip(found.keys, found.values, strict=True)
            if isinstance(k, ast.Constant)
        }

    def _calls(self, name: str) -> Iterator[ast.Call]:
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == name:
                yield node

    def _keywords(self) -> Iterator[tuple[str | None, ast.expr]]:
        for call in self._calls("self._github.request"):
            yield from ((k.arg, k.value) for k in call.keywords)


def _type(node: ast.expr) -> Any:
    """A type as githubkit writes it: names of models with `list`, `Union`, `None`, `str`."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    scope: dict[str, Any] = {name: getattr(models, name) for name in names if hasattr(models, name)}
    typing = vars(importlib.import_module("typing"))
    # As githubkit's own modules name it.
    return eval(ast.unparse(node), typing | {"_dt": datetime} | scope)


@cache
def operations() -> dict[str, Operation]:
    """Every operation by its id."""
    found: dict[str, Operation] = {}
    for file in sorted(Path(rest.__file__).parent.glob("*.py")):
        for chunk in file.read_text("utf-8").split("\n    def ")[1:]:
            source = chunk.split("\n    @", 1)[0].split("\n    async def ", 1)[0]
            if match := _HEADER.match(source, source.find('"""') + 3):
                id_, method, path = match.groups()
                found[id_] = Operation(id_, method, path, source)
    return found


@cache
def _by_method(method: str) -> list[Operation]:
    """Operations of a method; a path with fewer wild cards is looked at first."""
    return sorted(
        (o for o in operations().values() if o.method == method),
        key=lambda o: (o.path.count("{"), o.path),
    )


@cache
def operation_of(method: str, path: str) -> tuple[Operation, Mapping[str, str]]:
    """The operation that a request is, with the values in its path."""
    for kind in (0, 1):
        for operation in _by_method(method):
            if match := operation.patterns[kind].fullmatch(path):
                return operation, match.groupdict()
    raise Undescribed(f"{method} {path} is no operation of GitHub's API")


def check_request(operation: Operation, query: Mapping[str, str], body: bytes) -> None:
    """Raise `Undescribed` for a parameter or a body that the description does not have."""
    unknown = set(query) - operation.query
    if unknown:
        raise Undescribed(f"{operation.id} has no query parameters {sorted(unknown)}")
    if operation.body is None:
        if body not in (b"", b"{}"):
            raise Undescribed(f"{operation.id} takes no body: {body[:200]!r}")
        return
    _check(operation.body, body or b"{}", f"the body of {operation.id}")


def check_answer(operation: Operation, status: int, body: bytes) -> None:
    """Raise `Undescribed` for an answer that GitHub would not give."""
    if status in (302, 304):
        return
    if status >= 400:
        wanted = operation.errors.get(str(status), models.BasicError)
        _check(wanted, body, f"the {status} answer of {operation.id}", known_only=False)
        return
    if operation.answer is None:
        if status in (202, 204, 205) or not body or body in (b"{}", b"null"):
            return
        if operation.id == "actions/create-workflow-dispatch" and status == 200:
            return
        raise Undescribed(f"{operation.id} answers without a body: {body[:200]!r}")
    _check(operation.answer, body, f"the answer of {operation.id}")


def check_webhook(event: str, payload: bytes) -> None:
    """Raise `Undescribed` for a payload that is none of `event`."""
    action = json.loads(payload).get("action")
    _check(webhook_model(event, action), payload, f"the webhook {event} {action or ''}")


def webhook_model(event: str, action: str | None) -> Any:
    """The model of a webhook's payload."""
    name = "Webhook" + "".join(
        part.title() for part in (*event.split("_"), *(action or "").split("_"))
    )
    return getattr(models, name)


def _check(type_: Any, data: bytes, what: str, *, known_only: bool = True) -> None:
    try:
        parsed = _adapter(type_).validate_json(data, strict=True)
    except ValidationError as error:
        raise Undescribed(f"{what}: {str(error)[:1500]}") from error
    if known_only:
        unknown = list(_unknown(json.loads(data), parsed, ""))
        if unknown:
            raise Undescribed(f"{what} has unknown keys: {unknown}")


@cache
def _adapter(type_: Any) -> TypeAdapter[Any]:
    return TypeAdapter(type_)


def _unknown(raw: Any, parsed: Any, where: str) -> Iterator[str]:
    """Keys of `raw` that no field of the parsed model took."""
    if isinstance(parsed, BaseModel) and isinstance(raw, dict):
        fields = {
            f.alias or name: getattr(parsed, name) for name, f in type(parsed).model_fields.items()
        }
        fields |= parsed.model_extra or {}
        for key, value in raw.items():
            if key not in fields:
                yield f"{where}.{key}"
            else:
                yield from _unknown(value, fields[key], f"{where}.{key}")
    elif isinstance(parsed, list) and isinstance(raw, list):
        for i, (one, other) in enumerate(zip(raw, parsed, strict=True)):
            yield from _unknown(one, other, f"{where}[{i}]")
