"""A pooling request while a speculative batch is served: every step must be answered."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def test_reward_serving_answers_every_step():
    steps = json.loads((HERE / "data" / "steps.json").read_text(encoding="utf-8"))
    server = subprocess.Popen(
        [sys.executable, str(HERE / "serve.py")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    try:
        port = int(server.stdout.readline())
        with socket.create_connection(("127.0.0.1", port), timeout=60) as client:
            client.sendall(b"".join(json.dumps(step).encode() + b"\n" for step in steps))
            answers = b""
            while answers.count(b"\n") < len(steps):
                answers += client.recv(64)
            assert answers == b"1\n1\n"
    finally:
        server.kill()
        server.wait()
