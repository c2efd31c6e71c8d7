"""What is known of one failure when its cause is decided, and the decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from checks.ci.change_links import ChangeLinker
from checks.ci.message_keys import Root
from checks.ci.model import CIRun, Job
from checks.ci.observed_failures import ObservedFailure
from checks.ci.predictions import Predictions
from checks.ci.report import Category, Cause, Evidence, Frame
from checks.core.finding import Confidence, Message


@dataclass(frozen=True, slots=True)
class Attribution:
    """Whose a failure is, how sure that is, the root cause as a sentence, and the evidence."""

    cause: Cause
    confidence: Confidence
    root: Message
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True)
class AttributionInput:
    """One failure with everything that may tell its cause.

    `others` are the job's other failures. `server_death` is the log line in which a server was seen
    to die. `linker` is None where the repository is not known.
    """

    run: CIRun
    job: Job
    observed: ObservedFailure
    others: tuple[ObservedFailure, ...] = ()
    server_death: Evidence | None = None
    tests_ran: bool = False
    linker: ChangeLinker | None = None
    predictions: Predictions = field(default_factory=Predictions)

    @property
    def error(self) -> dict[str, str]:
        """The error as the argument that most root sentences have."""
        return {"error": self.observed.error}

    @cached_property
    def links(self) -> tuple[Evidence, ...]:
        """What ties the failure to the change, the heaviest first; empty where the change is not
        known.
        """
        if self.linker is None:
            return ()
        return self.linker.reasons(self.observed)

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The failure's stack frames, with the repository's paths where the repository is known."""
        if self.linker is None:
            return self.observed.frames
        return self.linker.place(self.observed)


def unknown_cause(case: AttributionInput, evidence: tuple[Evidence, ...] = ()) -> Attribution:
    """An unknown cause, with `evidence`, or else with the links that were not enough."""
    is_number = case.observed.category is Category.NUMERICAL
    root = Message(Root.NUMERICAL if is_number else Root.UNKNOWN, case.error)
    return Attribution(Cause.UNKNOWN, Confidence.LOW, root, evidence or case.links)
