"""What GitHub Enterprise Server's descriptions say of the operations that the bot uses.

`python -m tests.fake_github.enterprise ghes-3.17.json ghes-3.19.json` takes them out of GitHub's
own OpenAPI files into `enterprise/`: names and types alone, without a word of documentation. Of the
older ones there is what differs from the newest.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

from tests.fake_github.description import Undescribed

Json = dict[str, Any]
FOLDER = Path(__file__).with_name("enterprise")
VERSIONS = tuple(sorted(file.stem for file in FOLDER.glob("*.json")))
_PARTS = ("operations", "schemas")
# Its servers speak one version of the API, and cannot be asked which.
SPOKEN = "2022-11-28"
_ABSENT = "meta/get-all-versions"
_SAID = ("$ref", "additionalProperties", "allOf", "anyOf", "const", "enum", "items", "maxItems")
_SAID += ("maxLength", "maximum", "minItems", "minLength", "minimum", "nullable")
_SAID += ("properties", "required", "type")
_REF = re.compile(r'"#/components/schemas/([^"]+)"')


def check_request(operation: str, query: Mapping[str, str], body: bytes) -> None:
    """Raise `Undescribed` for a parameter or a body that one of the servers does not have."""
    for version in VERSIONS:
        described = _described(version, operation)
        if described is None:
            continue
        unknown = set(query) - set(described["query"])
        if unknown:
            raise Undescribed(f"{version}: {operation} has no parameters {sorted(unknown)}")
        if described["body"] is not None:
            _check(version, described["body"], body or b"{}", f"the body of {operation}")
            unknown = set(json.loads(body or b"{}")) - _properties(version, described["body"])
            if unknown:
                raise Undescribed(f"{version}: {operation} has no keys {sorted(unknown)}")


def answer(version: str, operation: str, status: int, data: Any) -> Any:
    """The answer of dotcom as the server of `version` gives it: without what that does not know,
    and with what it has besides. Raises `Undescribed` where it would not give it."""
    described = _described(version, operation)
    wanted = described and described["answers"].get(str(status))
    if not wanted:
        return data
    shaped = _shaped(version, wanted, data)
    _check(version, wanted, json.dumps(shaped).encode(), f"the {status} answer of {operation}")
    return shaped


def _shaped(version: str, schema: Json, data: Any) -> Any:
    schema = _form(version, schema, data)
    if isinstance(data, list):
        return [_shaped(version, schema.get("items", {}), one) for one in data]
    if not isinstance(data, dict) or "properties" not in schema:
        return data
    known = schema["properties"]
    kept = {name: _shaped(version, known[name], data[name]) for name in data if name in known}
    missing = set(schema.get("required", ())) - set(data)
    return kept | {name: _least(version, known[name]) for name in missing}


def _form(version: str, schema: Json, data: Any) -> Json:
    """The schema without references, and of its forms the one that knows most of the data."""
    if "$ref" in schema:
        schema = _description(version)["schemas"][schema["$ref"].split("/")[-1]]
        return _form(version, schema, data)
    if "allOf" in schema and "properties" not in schema:
        return _together([_form(version, one, data) for one in schema["allOf"]])
    if "anyOf" in schema and "properties" not in schema:
        forms = [_form(version, one, data) for one in schema["anyOf"]]
        names = set(data) if isinstance(data, dict) else set()
        return max(forms, key=lambda one: len(names & set(one.get("properties", ()))))
    return schema


def _together(forms: Iterable[Json]) -> Json:
    """What has all of the forms."""
    properties: Json = {}
    required: list[str] = []
    for form in forms:
        properties |= form.get("properties", {})
        required += form.get("required", ())
    return {"type": "object", "properties": properties, "required": required}


def _least(version: str, schema: Json) -> Any:
    """The least value that the schema takes."""
    schema = _form(version, schema, None)
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("type") == "object":
        known = schema.get("properties", {})
        return {name: _least(version, known[name]) for name in schema.get("required", ())}
    return {"string": "", "integer": 1, "number": 1, "boolean": False, "array": []}.get(
        str(schema.get("type"))
    )


@cache
def _description(version: str) -> Json:
    """One version's, over what the newest has."""
    files = {FOLDER / f"{VERSIONS[-1]}.json": None, FOLDER / f"{version}.json": None}
    read = [json.loads(file.read_text("utf-8")) for file in files]
    return {part: {k: v for one in read for k, v in one[part].items()} for part in _PARTS}


def _described(version: str, operation: str) -> Json | None:
    if operation == _ABSENT:
        return None
    described: Json | None = _description(version)["operations"].get(operation)
    if described is None:
        raise Undescribed(f"{version} has no {operation}")
    return described


def _properties(version: str, schema: Json) -> set[str]:
    """The names that a body may have, in any of its forms."""
    if "$ref" in schema:
        return _properties(version, _description(version)["schemas"][schema["$ref"].split("/")[-1]])
    found = set(schema.get("properties", ()))
    for form in ("allOf", "anyOf"):
        for part in schema.get(form, ()):
            found |= _properties(version, part)
    return found


def _check(version: str, schema: Json, data: bytes, what: str) -> None:
    whole = json.dumps(schema, sort_keys=True)
    for error in _validator(version, whole).iter_errors(json.loads(data)):
        place = "/".join(str(part) for part in error.absolute_path)
        raise Undescribed(f"{version}: {what}, {place}: {error.message[:300]}")


@cache
def _validator(version: str, schema: str) -> jsonschema.Draft202012Validator:
    parts = _description(version)["schemas"]
    return jsonschema.Draft202012Validator(json.loads(schema) | {"components": {"schemas": parts}})


def _taken(whole: Json, operations: Iterable[str]) -> Json:
    """The operations, and the schemas that they name."""
    wanted, found = set(operations), {}
    for path, item in whole["paths"].items():
        for method, one in item.items():
            if isinstance(one, dict) and one.get("operationId") in wanted:
                found[one["operationId"]] = _operation(whole, method, path, one)
    schemas: Json = {}
    _take_named(whole, found, schemas)
    return {"operations": dict(sorted(found.items())), "schemas": dict(sorted(schemas.items()))}


def _operation(whole: Json, method: str, path: str, one: Json) -> Json:
    parameters = [_resolved(whole, parameter) for parameter in one.get("parameters", ())]
    answers = {}
    for status, answer in one["responses"].items():
        if status.startswith("2"):
            answers[status] = _schema(_resolved(whole, answer))
    return {
        "method": method.upper(),
        "path": path,
        "query": sorted(p["name"] for p in parameters if p["in"] == "query"),
        "body": _schema(one.get("requestBody", {})),
        "answers": answers,
    }


def _resolved(whole: Json, part: Json) -> Json:
    if "$ref" not in part:
        return part
    *_, kind, name = part["$ref"].split("/")
    found: Json = whole["components"][kind][name]
    return found


def _schema(part: Json) -> Json | None:
    schema = part.get("content", {}).get("application/json", {}).get("schema")
    return None if schema is None else _bare(schema)


def _bare(schema: Any, *, is_named: bool = False) -> Any:
    """What a schema demands; `is_named`: its keys are names of properties.

    OpenAPI 3.0 says apart from a type that a value may be null.
    """
    if isinstance(schema, list):
        return [_bare(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if is_named:
        return {name: _bare(part) for name, part in schema.items()}
    kept = {k: _bare(v, is_named=k == "properties") for k, v in schema.items() if k in _SAID}
    if "oneOf" in schema:
        # What told its forms apart may be among what is left out here.
        kept["anyOf"] = _bare(schema["oneOf"])
    if kept.pop("nullable", False):
        return {"anyOf": [kept, {"type": "null"}]}
    return kept


def _take_named(whole: Json, part: Any, schemas: Json) -> None:
    for name in set(_REF.findall(json.dumps(part))) - set(schemas):
        schemas[name] = _bare(whole["components"]["schemas"][name])
        _take_named(whole, schemas[name], schemas)


def _lines(described: Json) -> Iterator[str]:
    """JSON with an operation or a schema a line."""
    yield "{"
    for number, (part, entries) in enumerate(described.items()):
        rows = [f"  {json.dumps(name)}: {json.dumps(one)}" for name, one in entries.items()]
        end = "}," if number + 1 < len(described) else "}"
        yield f" {json.dumps(part)}: {{\n" + ",\n".join(rows) + f"\n {end}"
    yield "}"


def main() -> int:
    from tests.fake_github.app import operations

    *older, newest = (
        (
            Path(name).stem.removeprefix("ghes-"),
            _taken(json.loads(Path(name).read_text("utf-8")), operations()),
        )
        for name in sorted(sys.argv[1:])
    )
    _write(*newest)
    for version, taken in older:
        known = newest[1]
        _write(
            version,
            {
                part: {k: v for k, v in taken[part].items() if known[part].get(k) != v}
                for part in _PARTS
            },
        )
    return 0


def _write(version: str, taken: Json) -> None:
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{version}.json").write_text("\n".join(_lines(taken)) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
