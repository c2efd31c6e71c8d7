"""The host side of the loop: which request is in which slot, and what the messages say became of
it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from kernels.decode.model import Model
from kernels.decode.settings import Output, Request, Settings
from kernels.decode.worker import Sent, Worker
from kernels.message import Message, unpack_message
from kernels.schedule import Launch, next_launch


@dataclass
class Job:
    """A request on its way."""

    number: int
    request: Request
    output: Output
    unread: int  # prompt tokens that no step has read yet


@dataclass(frozen=True)
class Progress:
    """Tokens of request `number` that a step brought: entries `first` on of its output's lists."""

    number: int
    first: int
    output: Output


class Engine:
    """Decodes requests step by step.

    `submit` at any time; call `step` while `busy`. Each step returns the tokens that became known
    in it.
    """

    def __init__(self, model: Model, settings: Settings) -> None:
        self.settings = settings
        self.workers = [Worker(model, settings, rank) for rank in range(settings.tp_size)]
        self.vocab = model.shape.vocab
        self.waiting: deque[Job] = deque()
        self.jobs: list[Job | None] = [None] * settings.max_bsz
        self.in_flight: deque[tuple[Sent, list[Job | None]]] = deque()
        self.submitted = 0
        self.reading = [0] * settings.max_bsz  # prompt tokens of each slot in the next step

    @property
    def busy(self) -> bool:
        """Whether anything is left to do."""
        return bool(self.waiting or self.in_flight or any(self.jobs))

    def submit(self, request: Request) -> int:
        """Queue a request; returns its number. ValueError for one that cannot be decoded."""
        room = self.settings.max_model_len - len(request.prompt)
        if not request.prompt or room < 1 or request.max_tokens < 1:
            raise ValueError(
                f"a request needs a prompt of 1 to {self.settings.max_model_len - 1} tokens "
                "and max_tokens of at "
                f"least 1, got {len(request.prompt)} and {request.max_tokens}"
            )
        if not all(0 <= token < self.vocab for token in request.prompt):
            raise ValueError(f"prompt tokens must be in 0..{self.vocab - 1}")
        job = Job(self.submitted, request, Output(), len(request.prompt))
        self.waiting.append(job)
        self.submitted += 1
        return job.number

    def step(self) -> list[Progress]:
        """Launch one step, if a request is there for it, and read what is due."""
        self._plan()
        launched = self._launch()
        due = len(self.in_flight) - (1 if self.settings.overlap and launched else 0)
        return [progress for _ in range(due) for progress in self._receive()]

    def _plan(self) -> None:
        """Give free slots to waiting requests and prompts their next chunk, then draft for the
        others."""
        self.reading = [0] * self.settings.max_bsz
        for slot, job in enumerate(self.jobs):
            if job is None and self.waiting:
                job = self.jobs[slot] = self.waiting.popleft()
                for worker in self.workers:
                    worker.admit(slot, job.request)
            if job is not None and job.unread:
                chunk = min(job.unread, self.settings.prefill_chunk or job.unread)
                job.unread -= chunk
                self.reading[slot] = chunk
                for worker in self.workers:
                    worker.read_prompt(slot, chunk)
        # after the prompts: a slot in the middle of its prompt must not look like one that decodes
        for worker in self.workers:
            worker.propose()

    def _launch(self) -> bool:
        launch = self._next_launch()
        if launch.token_num == 0:
            return False
        answers = [worker.launch(launch.token_num) for worker in self.workers]
        sent = [answer for answer in answers if answer is not None]
        if len(sent) != 1:
            raise RuntimeError(f"{len(sent)} ranks answered, expected one")
        self.in_flight.append((sent[0], list(self.jobs)))
        return True

    def _next_launch(self) -> Launch:
        if not self.settings.overlap:
            lengths = self.workers[0].slots.seq_lens_this_time.tolist()
            return next_launch(
                lengths, num_speculative_tokens=self.settings.num_speculative_tokens, overlap=False
            )
        # The device may still be at the last step: all that the host knows is who had not finished
        # before that.
        decoding = [
            int(job is not None and not chunk)
            for job, chunk in zip(self.jobs, self.reading, strict=True)
        ]
        return next_launch(
            decoding,
            num_speculative_tokens=self.settings.num_speculative_tokens,
            overlap=True,
            prefill_tokens=sum(self.reading),
        )

    def _receive(self) -> list[Progress]:
        sent, jobs = self.in_flight.popleft()
        sent.wait()
        message = unpack_message(sent.words)
        news = [
            self._append(slot, job, message, sent)
            for slot, job in enumerate(jobs)
            if job is not None and message.token_counts[slot] > 0
        ]
        lost = [job.number for job in jobs if job is not None and job.output.finish_reason is None]
        if lost and not message.running:
            raise RuntimeError(f"the device has stopped, and requests {lost} never ended")
        return news

    def _append(self, slot: int, job: Job, message: Message, sent: Sent) -> Progress:
        rows, output = message.rows(slot), job.output
        first = len(output.tokens)
        output.tokens += message.tokens[rows, 0].tolist()
        output.topk_ids += message.tokens[rows, 1:].tolist()
        output.logprobs += message.scores[rows, 0].tolist()
        output.topk_logprobs += message.scores[rows, 1:].tolist()
        output.ranks += message.ranks[rows].tolist()
        output.logz += sent.logz[rows].tolist()
        output.accept_num.append(message.token_counts[slot])
        full = min(job.request.max_tokens, self.settings.max_model_len - len(job.request.prompt))
        if output.tokens[-1] in self.settings.end_tokens:
            output.finish_reason = "stop"
        elif len(output.tokens) >= full:
            output.finish_reason = "length"
        if output.finish_reason:
            self.jobs[slot] = None
        return Progress(job.number, first, output)


def decode(
    model: Model, requests: Sequence[Request], settings: Settings | None = None
) -> list[Output]:
    """Decode all requests together; the outputs are in the order of the requests."""
    engine = Engine(model, settings or Settings())
    for request in requests:
        engine.submit(request)
    outputs: dict[int, Output] = {}
    while engine.busy:
        outputs |= {progress.number: progress.output for progress in engine.step()}
    return [outputs[number] for number in range(len(requests))]
