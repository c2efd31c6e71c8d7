"""Every sentence exists in both languages, is used, and takes the same arguments in each."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest
from jinja2 import meta

from bot.i18n.catalog import TEMPLATES, Catalog
from bot.i18n.escape import Html, Markdown
from checks.core.finding import Message
from checks.registry import RULES

ROOT = Path(__file__).resolve().parent.parent
GENERAL = sorted((TEMPLATES / "words").glob("*.toml"))
OF_RULES = sorted((TEMPLATES / "rules").glob("*.toml"))
TABLES = {"message", "detail", "advice"}
FAMILIES = {rule.ID.split(".")[0] for rule in RULES}


def name(path: Path) -> str:
    return path.stem


@cache
def sentences(path: Path) -> dict[str, dict[str, str]]:
    """Sentences of a file by `key` (general words) or `table.key` (a rule's)."""
    data = tomllib.loads(path.read_text("utf-8"))
    if path.parent.name == "words":
        return data
    made = {"summary": data["summary"]} if "summary" in data else {}
    assert set(data) <= {*TABLES, "summary"}, path
    return made | {
        f"{table}.{key}": said for table in TABLES for key, said in data.get(table, {}).items()
    }


@pytest.mark.parametrize("path", [*GENERAL, *OF_RULES], ids=name)
def test_both_languages_say_the_same(path):
    environment = Catalog("en").renderer.environment
    languages = {tuple(sorted(said)) for said in sentences(path).values()}
    # The Chinese of a new rule may follow, all of it at once; its page says so meanwhile.
    allowed = [("en",), ("en", "zh")] if path in OF_RULES and "." in path.stem else [("en", "zh")]
    assert len(languages) == 1 and languages.pop() in allowed
    for key, said in sentences(path).items():
        assert all(text.strip() for text in said.values()), key
        wanted = {
            language: meta.find_undeclared_variables(environment.parse(text))
            for language, text in said.items()
        }
        assert wanted.get("zh", wanted["en"]) == wanted["en"], key


@pytest.mark.parametrize("path", [*GENERAL, *OF_RULES], ids=name)
def test_sentences_are_well_formed(path):
    for key, said in sentences(path).items():
        for language, text in said.items():
            Catalog(language).renderer.environment.from_string(text)
            if key.startswith("message.") or key == "summary":
                assert "\n" not in text.strip(), key
        zh = re.sub(r"\{[{%].*?[}%]\}|`[^`]*`", "码", said.get("zh", ""))
        assert not re.search(r"[\u4e00-\u9fff）][,;:!?](?![\w/])|[\u4e00-\u9fff],", zh), (
            key,
            zh,
        )


@cache
def counted_nouns() -> set[str]:
    """The plural nouns that some sentence writes with the filter `plural`."""
    pattern = re.compile(r"plural\(([\"'])(\w+)\1, ([\"'])(\w+)\3\)")
    found = set()
    for path in (*GENERAL, *OF_RULES):
        for _, one, _, many in pattern.findall(path.read_text("utf-8").replace("\\", "")):
            if many.startswith(one[:2]) and many.endswith("s"):
                found.add(many)
    return found


# A number before these is more than one wherever the sentence is said.
SEVERAL = {
    ("analysis", "functions-added"),
    ("analysis", "functions-removed"),
    ("analysis", "topic-threads"),
    ("ci", "detail-group"),
    ("device", "all-sources"),
    # Two numbers, of lines added and of lines removed.
    ("analysis", "size"),
    ("report", "size"),
    ("convention", "message.paste-file"),
}


@pytest.mark.parametrize("path", [*GENERAL, *OF_RULES], ids=name)
def test_numbers_and_nouns_agree(path):
    wrong = {}
    for key, said in sentences(path).items():
        for noun in re.findall(r"\{\{ \w+ \}\} (\w+)\b(?!')", said["en"]):
            if noun in counted_nouns() and (path.stem, key) not in SEVERAL:
                wrong[key] = noun
    assert wrong == {}


def test_a_template_is_compiled_once_for_all_who_write_the_same():
    message = Message("paste-range", {"folders": ["a"], "more": 1})
    sentence = sentences(TEMPLATES / "rules" / "convention.toml")["message.paste-range"]["en"]
    Catalog("en", Markdown()).prepare("rules/convention*.toml")
    compiled = Catalog("en", Markdown()).renderer.compile(sentence)
    said = Catalog("en", Markdown()).message("convention", message)
    assert said == "Touches `a` and 1 more folder."
    assert Catalog("en", Markdown()).renderer.compile(sentence) is compiled
    assert Catalog("en", Html()).renderer.compile(sentence) is not compiled


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.ID)
def test_every_rule_has_its_words(rule):
    family = TEMPLATES / "rules" / f"{rule.ID.split('.')[0]}.toml"
    own = TEMPLATES / "rules" / f"{rule.ID}.toml"
    assert own.is_file(), f"templates/rules/{rule.ID}.toml is missing"
    known = {**(sentences(family) if family.is_file() else {}), **sentences(own)}
    assert "summary" in sentences(own)
    for key in message_keys(ROOT / Path(rule.__file__).relative_to(ROOT)):
        assert f"message.{key}" in known, f"[message.{key}] is missing for {rule.ID}"


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_helpers_use_words_of_their_family(family):
    known = {key for path in OF_RULES if family_of(path) == family for key in sentences(path)}
    modules = list((ROOT / "checks" / "rules" / family).rglob("*.py"))
    assert modules
    for module in modules:
        for key in message_keys(module):
            assert f"message.{key}" in known, (
                f"[message.{key}] of {module.name} is in no file of {family}"
            )


@pytest.mark.parametrize("path", OF_RULES, ids=name)
def test_every_sentence_of_a_rule_is_used(path):
    # `every` holds what any rule may say.
    assert family_of(path) in {*FAMILIES, "every"}, "no rule of this family is registered"
    if "." in path.stem:
        assert path.stem in {rule.ID for rule in RULES}, "no rule has this id"
    used = {text for module in (ROOT / "checks").rglob("*.py") for text in strings(module)}
    for key in sentences(path):
        assert key == "summary" or key.split(".", 1)[1] in used, f"{key} is used nowhere in checks/"


def test_every_word_that_the_code_names_is_in_a_general_file():
    known = general_words()
    files = {path.stem for path in GENERAL}
    for word in named_words():
        if word.split(".")[0] in files:
            # A text that ends in "-" or "." is the beginning of an f-string.
            assert any(k.startswith(word) for k in known), f"{word} is used and nowhere defined"
    for key in raised_errors():
        defined = any(k.startswith(f"errors.{key}") for k in known)
        assert defined, f"[{key}] is missing in errors.toml"


def test_every_general_word_is_used():
    used = general_strings()
    starts = tuple(word for word in named_words() if word.endswith(("-", ".")))
    error_starts = tuple(key for key in raised_errors() if key.endswith("-"))
    for word in general_words():
        file, key = word.split(".", 1)
        if word in used:
            continue
        if file == "errors":
            assert key in used or key.startswith(("config-", *error_starts)), unused(word)
        elif file == "notes":
            assert key in used or word.startswith(starts), unused(word)
        else:
            assert word.startswith(starts), unused(word)


def unused(word: str) -> str:
    return f"{word} is used nowhere in bot/"


def general_words() -> set[str]:
    return {f"{path.stem}.{key}" for path in GENERAL for key in sentences(path)}


def general_strings() -> set[str]:
    """Every string of the bot's code, and every word that a page asks for."""
    used: set[str] = set()
    for module in (ROOT / "bot").rglob("*.py"):
        used.update(strings(module))
    for page in (TEMPLATES / "pages").glob("*.html"):
        used.update(re.findall(r'say\("([a-z.-]+)"', page.read_text("utf-8")))
    return used


def named_words() -> set[str]:
    """The strings that look like a word's key, or like the beginning of one."""
    return {text for text in general_strings() if re.fullmatch(r"[a-z]+\.[a-z-]*", text)}


def raised_errors() -> set[str]:
    keys: set[str] = set()
    for module in (ROOT / "bot").rglob("*.py"):
        keys.update(error_keys(module))
    return keys


def family_of(path: Path) -> str:
    return path.stem.split(".")[0]


@cache
def tree(module: Path) -> ast.Module:
    return ast.parse(module.read_text("utf-8"))


@cache
def strings(module: Path) -> set[str]:
    return {
        n.value
        for n in ast.walk(tree(module))
        if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


def message_keys(module: Path) -> set[str]:
    """Keys written out in a call of `Message`, `Finding.at` or `ChangedFunction.finding`."""
    keys = set(first_arguments(module, "Message"))
    for node in ast.walk(tree(module)):
        is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if is_method and node.func.attr in ("at", "finding") and len(node.args) > 2:
            keys.update(literals(node.args[2]))
    return keys


def error_keys(module: Path) -> set[str]:
    return set(first_arguments(module, "UserError"))


def first_arguments(module: Path, function: str):
    for node in ast.walk(tree(module)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == function
            and node.args
        ):
            yield from literals(node.args[0])


def literals(node: ast.expr):
    """The strings that an argument can be: a literal, either side of a conditional, the start of an
    f-string."""
    if isinstance(node, ast.Constant):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)
    elif isinstance(node, ast.JoinedStr):
        yield from literals(node.values[0])
