"""What strangers send, taken apart without the network: no order, no crash, nothing alive in an
answer."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from bot.chat import reply
from bot.chat.comment_job import CommentJob
from bot.chat.context import Refusal
from bot.chat.gpu_run import KernelArguments, parse_arguments
from bot.chat.permissions import Permission, permission_of
from bot.github import GitHubError, RateLimited, UncertainWrite
from bot.i18n.catalog import LANGUAGES, Catalog
from bot.i18n.escape import Markdown
from bot.redact import redact
from bot.webhooks.app import _job_request
from bot.webhooks.handlers import HANDLERS
from checks.core.near_names import near_names

ADA = {"login": "ada", "id": 7, "type": "User"}
PAYLOAD: dict[str, Any] = {
    "action": "created",
    "issue": {"number": 3, "pull_request": {"url": ""}, "state": "open"},
    "comment": {
        "id": 11,
        "body": "/re-run all-failed",
        "user": ADA,
        "created_at": "2026-01-01T00:00:00Z",
    },
    "repository": {"id": 5, "full_name": "octo/engine"},
    "installation": {"id": 9},
    "sender": ADA,
}


def payload(**changes: Any) -> dict[str, Any]:
    """The payload with `comment__body="..."` put in at its place."""
    made = json.loads(json.dumps(PAYLOAD))
    for path, value in changes.items():
        at = made
        *outer, last = path.split("__")
        for name in outer:
            at = at[name]
        at[last] = value
    return made


def test_the_usual_comment_is_an_order():
    order = HANDLERS["issue_comment"]("guid", payload())
    assert order is not None
    assert (order.workflow, order.id) == ("comment", "comment-5-11")


NO_COMMAND = {
    "edited": payload(action="edited"),
    "deleted": payload(action="deleted"),
    "pinned": payload(action="pinned"),
    "on an issue": {**payload(), "issue": {"number": 3}},
    "by a bot": payload(comment__user=ADA | {"type": "Bot"}),
    "by an organisation": payload(comment__user=ADA | {"type": "Organization"}),
    "by a mannequin": payload(comment__user=ADA | {"type": "Mannequin"}),
    "by a ghost": payload(comment__user=None),
    "by an App in a person's name": payload(comment__performed_via_github_app={"id": 1}),
    "sent by another": payload(sender={"login": "eve", "id": 8, "type": "User"}),
    "sent by another of the same name": payload(sender=ADA | {"id": 8}),
    "empty": payload(comment__body=""),
    "null": payload(comment__body=None),
    "a number": payload(comment__body=7),
    "a list": payload(comment__body=["/help"]),
    "quoted": payload(comment__body="> /re-run all-failed"),
}


@pytest.mark.hostile("commands")
@pytest.mark.parametrize("what", NO_COMMAND)
def test_no_command_comes_of(what):
    order = HANDLERS["issue_comment"]("guid", NO_COMMAND[what])
    assert order is None or order.workflow == "discussion"


@pytest.mark.parametrize("action", ["created", "edited", "deleted"])
def test_what_people_say_is_told_to_the_page(action):
    order = HANDLERS["issue_comment"](
        "guid", payload(action=action, comment__body="Does it spill?")
    )
    assert order is not None
    assert (order.workflow, order.id, order.partition) == (
        "discussion",
        "discussion-5-3",
        "octo/engine#3",
    )
    assert order.batched, "ten comments in a minute are one page"


SILENT = {
    "a command": payload(action="edited", comment__body="/re-run all-failed"),
    "for another bot": payload(comment__body="/skip-ci"),
    "nothing": payload(comment__body=" \n"),
    "by a bot": payload(comment__body="Coverage: 80 %", sender=ADA | {"type": "Bot"}),
    "on an issue": payload(comment__body="Does it spill?", issue={"number": 3, "state": "open"}),
    "on one that is closed": payload(comment__body="Does it spill?", issue__state="closed"),
    "pinned": payload(comment__body="Does it spill?", action="pinned"),
}


@pytest.mark.hostile("commands")
@pytest.mark.parametrize("what", SILENT)
def test_no_page_is_renewed_by(what):
    assert (order := HANDLERS["issue_comment"]("guid", SILENT[what])) is None, order


def test_a_replay_under_another_delivery_is_the_same_order():
    """The id of a delivery is not signed."""
    first, second = (HANDLERS["issue_comment"](guid, payload()) for guid in ("one", "two"))
    assert first == second


def test_what_author_association_says_is_not_read():
    kinds = ("OWNER", "MEMBER", "COLLABORATOR", "NONE")
    orders = [
        HANDLERS["issue_comment"]("g", payload(comment__author_association=kind)) for kind in kinds
    ]
    assert all(order == orders[0] for order in orders)
    assert "association" not in json.dumps(orders[0].arguments if orders[0] else "")


ODD: list[Any] = [
    {},
    [],
    "x",
    7,
    None,
    True,
    {"id": {}},
    {"id": "1; DROP TABLE"},
    {"id": 1e400},
    [[[[]]]],
]


@pytest.mark.hostile("webhooks")
@pytest.mark.parametrize("event", sorted(HANDLERS))
@pytest.mark.parametrize(
    "key", ["action", "issue", "comment", "repository", "installation", "sender", "workflow_run"]
)
@pytest.mark.parametrize("value", ODD, ids=repr)
def test_payloads_that_are_not_githubs(event, key, value):
    """No crash: they are logged as not understood, or there is nothing to do."""
    action = {"workflow_run": "completed", "pull_request": "opened"}.get(event, "created")
    _job_request("guid", event, payload() | {"action": action, key: value})


HOSTILE = [
    "@octo/maintainers",
    "@ada please merge",
    "#1",
    "octo/engine#1",
    "GH-1",
    "https://evil.example",
    "www.evil.example",
    "![x](https://evil.example/x.png)",
    "[x](javascript:alert(1))",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "<!-- specbot:answer 11 0 -->",
    "--> <b>",
    "</details></table>",
    "`code` `@ada`",
    "```\n@ada\n```",
    "| a | b |",
    "# heading",
    "- [x] done",
    "> quoted",
    "$\\mathrm{x}$",
    "&lt;b&gt;",
    "a\r\nb\nc",
    "\u202etxet",
    "\u200b@ada",
    "{{ 7 * 7 }}",
    "{% for x in y %}",
    "${{ secrets.TOKEN }}",
    "{0.__class__}",
    "%s%n%x",
    "\x1b[31mred",
    "~~~\n/help",
    "/re-run all-failed",
]
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)


def alive(text: str) -> str:
    """`text` without its code spans, in which nothing lives."""
    return _CODE.sub("", text)


@pytest.mark.hostile("commands")
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_foreign_lives_in_an_answer(text, language):
    words = Catalog(language, Markdown())
    said = [
        words("comments.unknown-job", wanted=text, near=[text], some=[text]),
        words("comments.unknown-job", wanted=text, near=[], some=[text]),
        words("comments.which-job", wanted=text, names=[text, text]),
        words("comments.no-finding", wanted=text, near=[text]),
        words("comments.rerun-refused", job=text, reason=text),
        words("comments.kernels-what", bad=[text]),
        words("comments.kernels-refused", workflow=text, reason=text),
    ]
    for one in said:
        left = alive(one)
        assert "\n" not in one
        assert not re.search(r"@\w|<\w|<!|\]\(|(?<!&)#\d|https?:/|www\.|{{|49", left), one
        assert "\u202e" not in one and "\x1b" not in one


@pytest.mark.hostile("commands")
@pytest.mark.parametrize("text", HOSTILE)
def test_the_answer_quotes_its_command_as_code(text):
    order = CommentJob("o", 1, 2, "octo/engine", 3, 11, "", "ada", 7, [["re-run", text]], 0)
    first, _, head, *_ = reply.format_answer(order, 0, "Text.", "Cut.").split("\n")
    assert first == "<!-- specbot:answer 11 0 -->"
    assert not alive(head).strip()


def test_an_answer_that_is_too_long_is_cut_between_lines():
    order = CommentJob("o", 1, 2, "octo/engine", 3, 11, "", "ada", 7, [["help", ""]], 0)
    text = reply.format_answer(order, 0, "\n".join("𝄞" * 50 for _ in range(2000)), "Cut.")
    assert len(text.encode("utf-16-le")) // 2 <= reply.LARGEST
    assert text.endswith("𝄞\n\nCut.")


BAD_ARGUMENTS = [
    "a" * 39 + "!",
    f"{'a' * 40} {'b' * 40}",
    "1bc29b3 1bc29b4",
    "../../etc/passwd",
    "verify;rm -rf /",
    "$(reboot)",
    "`reboot`",
    "--device=cpu",
    "verify\u0430",
    "Verify",
    "ops=*",
    "a" * 65,
    " ".join(f"op{n}" for n in range(30)),
    "refs/heads/main",
    "HEAD~1",
    "main@{1}",
    "${{github.token}}",
]


@pytest.mark.hostile("commands")
@pytest.mark.parametrize("text", BAD_ARGUMENTS)
def test_arguments_of_kernels_that_are_refused(text):
    with pytest.raises(Refusal):
        parse_arguments(text)


def test_a_commit_is_told_from_names():
    assert parse_arguments("a" * 40).sha == "a" * 40
    assert parse_arguments("1bc29b3").sha == "1bc29b3"
    assert parse_arguments("1bc29b") == KernelArguments("", ("1bc29b",))
    assert parse_arguments("a" * 41) == KernelArguments("", ("a" * 41,))
    assert parse_arguments(f"ops, {'0' * 64} verify").names == ("ops", "verify")


class Told:
    """A client that gives, or raises, one answer."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.path = ""

    def get(self, path: str) -> Any:
        self.path = path
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


PEOPLE = [
    ({"permission": "admin", "user": {"id": 7}}, Permission.WRITE),
    ({"permission": "write", "role_name": "maintain", "user": {"id": 7}}, Permission.WRITE),
    ({"permission": "read", "role_name": "triage", "user": {"id": 7}}, Permission.READ),
    ({"permission": "read", "user": {"id": 7}}, Permission.READ),
    ({"permission": "none", "user": {"id": 7}}, Permission.NONE),
    ({"permission": "owner", "user": {"id": 7}}, Permission.NONE),
    ({"permission": "admin", "user": {"id": 8}}, Permission.NONE),
    ({"permission": "admin", "user": None}, Permission.NONE),
    (GitHubError(404, "Not Found"), Permission.NONE),
    (GitHubError(403, "Forbidden"), Permission.NONE),
    (GitHubError(401, "Bad credentials"), Permission.NONE),
]


@pytest.mark.hostile("logins")
@pytest.mark.parametrize(("answer", "wanted"), PEOPLE, ids=repr)
def test_who_may(answer, wanted):
    assert permission_of(Told(answer), "octo/engine", "ada", 7) is wanted  # type: ignore[arg-type]


@pytest.mark.hostile("logins")
@pytest.mark.parametrize(
    "error",
    [RateLimited(403, ""), UncertainWrite(0, ""), GitHubError(502, ""), GitHubError(0, "")],
    ids=repr,
)
def test_nobody_may_while_github_does_not_say(error):
    with pytest.raises(GitHubError):
        permission_of(Told(error), "octo/engine", "ada", 7)  # type: ignore[arg-type]


@pytest.mark.hostile("logins")
@pytest.mark.parametrize("login", ["../../user", "a/b", "a?x=1", "a#b", "a%2fb", "a b", "[bot]"])
def test_a_login_is_one_part_of_a_path(login):
    told = Told({"permission": "read", "user": {"id": 7}})
    permission_of(told, "octo/engine", login, 7)  # type: ignore[arg-type]
    assert re.fullmatch(r"/repos/octo/engine/collaborators/[^/?#]+/permission", told.path)


SECRETS = [
    "ghs_" + "a1B2" * 9,
    "ghs_12345_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxIn0.c2lnbmF0dXJl",
    "ghp_" + "x" * 36,
    "gho_" + "x" * 36,
    "ghu_" + "x" * 36,
    "ghr_" + "x" * 76,
    "github_pat_" + "A" * 22 + "_" + "b" * 59,
    "https://x-access-token:hunter2hunter2@github.com/a/b",
    "Authorization: Bearer abcdefghijklmnop",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_in_what_github_says_are_not_said_on(secret):
    for part in re.findall(
        r"[A-Za-z0-9_]{12,}", secret.replace("Authorization", "").replace("PRIVATE KEY", "")
    ):
        if part not in ("access", "token"):
            assert part not in redact(f"GitHub said {secret} and more"), part


@pytest.mark.hostile("names")
@pytest.mark.parametrize(
    "word", ["", "x" * 500, "[", "(", ".*", "\\", "单元", "🙂" * 100, "a" * 255]
)
def test_any_word_has_names_near_it_or_none(word):
    assert set(near_names(word, ["unit", "单元测试", "a" * 300, "[gpu] (x)"])) <= {
        "unit",
        "单元测试",
        "a" * 300,
        "[gpu] (x)",
    }
