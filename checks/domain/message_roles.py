"""Who sends and who receives, told from the names of calls."""

from __future__ import annotations

import re

SEND = "send"
RECEIVE = "receive"

_PRIMITIVES = {"msgsnd": SEND, "msgrcv": RECEIVE, "mq_send": SEND, "mq_receive": RECEIVE}
_SENDS = frozenset({"send", "snd", "put", "push", "publish", "enqueue"})
_RECEIVES = frozenset({"recv", "rcv", "receive", "get", "pull", "pop", "dequeue"})
# Parts of an op's name that tell the end, not the message: `x_save_y_topk` and `x_get_y_topk` are
# two ends of one.
END_WORDS = (
    _SENDS
    | _RECEIVES
    | {"save", "read", "write", "encode", "decode", "pack", "unpack"}
    | {"with", "static", "dynamic", "out", "msg", "mmsg"}
)
# `cudaMemcpyPeer`, `std::get`: calls of the runtime that are no messages between processes.
_RUNTIME = re.compile(r"(cuda|hip|nccl|xpu|cublas|cu)(?=[A-Z_])|std")
_ADDRESS = re.compile(r"[(,]\s*&\s*[A-Za-z_]")
# A call whose arguments, as far as its statement goes, have an address in them.
_CALL_WITH_ADDRESS = re.compile(r"\b([A-Za-z_]\w*)\s*\((?=[^;{}]{0,300}?&\s*[A-Za-z_])")


def may_hand_over_address(text: str) -> bool:
    """Whether C++ source may hand the address of something to a send or receive primitive.

    This is the one question that is asked of a file's text before the file is parsed.
    """
    if _ADDRESS.search(text) is None:
        return False
    return any(role_of(name) for name in _CALL_WITH_ADDRESS.findall(text))


def role_of(name: str) -> str:
    """SEND, RECEIVE or nothing, told from the name of what is called."""
    if name in _PRIMITIVES:
        return _PRIMITIVES[name]
    if _RUNTIME.match(name):
        return ""
    words = set(snake(name).split("_"))
    if words & _SENDS:
        return SEND
    return RECEIVE if words & _RECEIVES else ""


def snake(name: str) -> str:
    """`SaveOutMsgTopK` as `save_out_msg_top_k`."""
    plain = name.rsplit("::", 1)[-1]
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain).lower()
