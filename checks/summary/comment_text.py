"""What a comment on GitHub says: its kind, its first sentences, the names that it mentions."""

from __future__ import annotations

import re
from collections.abc import Sequence

KINDS = ("correctness", "performance", "test", "style", "design", "other")
# The words by which a discussion is known to be of a kind, in English and Chinese. The kind with
# most words wins, the earlier one of equals.
_WORDS_OF_KIND = {
    "correctness": r"bugs?|wrong|incorrect|crash\w*|race|overflow\w*|out[- ]of[- ]bounds?"
    r"|uninitiali[sz]ed|undefined|leak\w*|deadlock\w*|null|nullptr|nan|dtype|type mismatch"
    r"|off[- ]by[- ]one|broken|fails?|exception|hang\w*"
    r"|错误|不正确|崩溃|越界|溢出|未初始化|空指针|死锁|不匹配|不一致|问题",
    "performance": r"slow\w*|faster|latency|throughput|overhead|perf\w*|synchroni[sz]\w*|copy"
    r"|copies|memory|alloc\w*|host sync|性能|耗时|开销|同步|显存|内存|拷贝",
    "test": r"tests?|unit ?tests?|coverage|fixtures?|baselines?|ci|assert\w*|regression"
    r"|单测|测试|用例|覆盖率|基线",
    "style": r"nit|typos?|naming|renam\w+|name|comments?|docstrings?|format\w*|lint|style|unused"
    r"|dead code|spelling|readab\w*|命名|拼写|注释|格式|风格|未使用|冗余|死代码",
    "design": r"design|refactor\w*|abstract\w*|interface|api|duplicat\w*|instead of|why not"
    r"|architecture|split|move|generic|设计|重构|抽象|接口|重复|为什么不|架构|拆分",
}
_PATTERN_OF_KIND = {
    kind: re.compile(rf"(?<![A-Za-z])(?:{words})(?![A-Za-z])", re.I)
    for kind, words in _WORDS_OF_KIND.items()
}
_NOT_PROSE = re.compile(r"```.*?(?:```|\Z)|<!--.*?-->|<details>.*?</details>|^>[^\n]*", re.S | re.M)
_NAME = re.compile(r"\b[A-Za-z_]\w*(?:_\w+|[a-z][A-Z]\w*|::\w+)\b")
_MERE_THANKS = re.compile(
    r"^\W*(?:done|fixed|ok(?:ay)?|thanks?|thx|lgtm|\+1|resolved|已修改|已修复|好的|收到|谢谢"
    r"|done\W+thx)?\W*$",
    re.I,
)
# Its first group is the text of a link.
_MARKUP = re.compile(
    r"!?\[([^\]]*)\]\([^)]*\)|[*`]+|~~|(?<!\w)_+(?=\w)|(?<=\w)_+(?!\w)|^#{1,6}\s+", re.M
)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s*")
_LONGEST_QUOTE = 280


def kind_of(texts: Sequence[str]) -> str:
    """What a discussion is about, by the words that people use for it; `other` where none is."""
    prose = "\n".join(_plain(text) for text in texts)
    counts = {kind: len(pattern.findall(prose)) for kind, pattern in _PATTERN_OF_KIND.items()}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else "other"


def quote(body: str) -> str:
    """The first sentences of a comment as plain text, empty where it only thanks or agrees."""
    text = " ".join(_plain(body).split())
    if _MERE_THANKS.match(text):
        return ""
    quoted = ""
    for sentence in _SENTENCE.split(text):
        if quoted and len(quoted) + len(sentence) > _LONGEST_QUOTE:
            break
        quoted = f"{quoted} {sentence}".strip() if quoted else sentence
    if len(quoted) > _LONGEST_QUOTE:
        quoted = quoted[: _LONGEST_QUOTE - 1].rstrip() + "…"
    return quoted


def _plain(body: str) -> str:
    """The text without code blocks, comments, quotes of others, and marks of Markdown."""
    prose = _NOT_PROSE.sub("\n", body)
    return _MARKUP.sub(lambda match: match[1] or "", prose)


def names_in(body: str) -> set[str]:
    """The names of code in a comment: `snake_case`, `camelCase`, `a::b`."""
    return set(_NAME.findall(body))
