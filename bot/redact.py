"""Secrets out of text, before it is logged or shown."""

from __future__ import annotations

import re

# GitHub's tokens by prefix, with what follows the dots of the stateless `ghs_` form; fine-grained
# tokens; installation tokens of old; JWTs; keys; credentials in URLs and in headers.
_SECRETS = re.compile(
    r"\bgh[a-z]_[A-Za-z0-9][A-Za-z0-9._-]*"
    r"|\bgithub_pat_\w+"
    r"|\bv1\.[0-9a-f]{40}\b"
    r"|\beyJ[\w-]+\.[\w-]+\.[\w-]*"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/@\s]+(?=@)"
    r"|(?i:\bauthorization\b\W{1,4}(?:basic|bearer|token)\s+|\b(?:bearer|basic)\s+)[\w.+/=~-]{8,}"
    r"|(?i:\btoken[ =:]+)[\w.+/=~-]{16,}"
    r"|\bsha256=[0-9a-f]{64}\b",
    re.DOTALL,
)


def redact(text: str) -> str:
    """`text` with everything that looks like a secret replaced by `***`."""
    return _SECRETS.sub("***", text)
