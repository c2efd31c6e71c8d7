"""No secret of a known form gets through, and ordinary text stays."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.redact import redact

WORD = string.ascii_letters + string.digits
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\nabc/+=\n-----END RSA PRIVATE KEY-----"
FORMS = {
    "personal": "ghp_" + "a1B2" * 9,
    "oauth": "gho_" + "a1B2" * 9,
    "user": "ghu_" + "a1B2" * 9,
    "installation": "ghs_" + "a1B2" * 9,
    "installation, stateless": "ghs_123456_eyJhbGciOi.eyJpc3Mi-_x.sig_NA-ture",
    "refresh": "ghr_" + "a1B2" * 19,
    "fine-grained": "github_pat_11ABCDEFG0abcdefghij_klmnop",
    "installation of old": "v1." + "0123456789abcdef0123" * 2,
    "jwt": "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiI0MiJ9.c2ln-_bmF0dXJl",
    "key": KEY,
    "key, cut off": KEY[:60],
    "signature": "sha256=" + "0f" * 32,
}
PLACES = ("{}", "a {} b", '{{"token": "{}"}}', "x={}&y", "<{}>", "{}\nnext")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_secret(form, place):
    said = redact(place.format(FORMS[form]))
    assert "***" in said
    longest = max(FORMS[form].replace("\n", ".").split("."), key=len)
    assert longest not in said.replace("\n", ".")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://x-access-token:abc@github.com/o/r.git", "https://***@github.com/o/r.git"),
        ("postgresql://bot:pa:ss@db:5432/x", "postgresql://***@db:5432/x"),
        ("Authorization: Basic eHg6eXl5eXl5", "***"),
        ("authorization: token 0123456789abcdef0123", "***"),
        ("Bearer abcdefgh12345678", "***"),
        ("token=0123456789abcdef0123", "***"),
    ],
)
def test_credentials_in_urls_and_headers(text, said):
    assert redact(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "60b13cd97c8699c436158e50a4f8d14104548b71",
        "a draft token of 7 tokens: accept_tokens",
        "see https://github.com/o/r/pull/1#discussion",
        "mail@example.org",
        "version v1.2.3, bearer of news",
        "sha256 of a file",
        "highs_and_lows",
    ],
)
def test_ordinary_text_stays(text):
    assert redact(text) == text


@given(
    prefix=st.sampled_from(["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"]),
    secret=st.text(WORD, min_size=20, max_size=80),
    before=st.text(" \n\"'=:<>([,;", max_size=5),
    after=st.text(" \n\"'<>)],;", max_size=5),
)
def test_any_token_anywhere(prefix, secret, before, after):
    said = redact(f"{before}{prefix}{secret}{after}")
    assert secret not in said
    assert said.startswith(before) and said.endswith(after)
