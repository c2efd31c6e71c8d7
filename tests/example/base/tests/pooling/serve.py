"""Stands in for the engine's server: steps come in over a socket, one JSON list of words a line; counts go out."""

import json
import socket
from types import SimpleNamespace

from lantern import host
from lantern.config import EngineConfig, SpecMethod, SpeculativeConfig
from lantern.output.token_processor import TokenProcessor


def main():
    cfg = EngineConfig(
        enable_logprob=True, speculative=SpeculativeConfig(method=SpecMethod.MTP)
    )
    task = SimpleNamespace(request_id="pooled", output_token_ids=[], eos_token_ids=[2])
    processor = TokenProcessor(cfg, [task], lambda outputs: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        connection, _ = server.accept()
        while True:
            line = read_line(connection)
            if not line:
                return
            for place, word in enumerate(json.loads(line)):
                processor.output_tokens[place, 0].set_tensor(host.to_tensor(word))
            processor._handle_step_output()
            connection.sendall(b"%d\n" % len(processor.held_target_outputs))


def read_line(connection):
    """One byte at a time: what follows stays with the kernel until it is asked for."""
    line = b""
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            return b""
        line += byte
    return line


if __name__ == "__main__":
    main()
