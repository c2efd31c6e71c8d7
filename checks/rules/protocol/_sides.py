"""The messages, buffer reads and sentinels of both sides of a change."""

from __future__ import annotations

from checks.core.change import ChangeSet
from checks.core.config import Config
from checks.core.finding import Side
from checks.domain.messages import Messages
from checks.lang.ir.source_file import SourceFile
from checks.rules.protocol._buffer_reads import BufferReads
from checks.rules.protocol._sentinel_uses import SentinelUse, compared_sentinels


class LayoutSides:
    """Both sides of a change, as the layout rules need them."""

    def __init__(self, change: ChangeSet, config: Config) -> None:
        self.change = change
        self.config = config
        self.head = Messages.of(change, config)
        self.base = Messages.of(change, config, Side.BASE)
        self.head_reads = BufferReads(change, config, self.head.constants, Side.HEAD)
        self.base_reads = BufferReads(change, config, self.base.constants, Side.BASE)

    def messages(self, side: Side) -> Messages:
        return self.head if side is Side.HEAD else self.base

    def reads(self, side: Side) -> BufferReads:
        return self.head_reads if side is Side.HEAD else self.base_reads

    def compared_sentinels(self, unit: SourceFile, owner: str, side: Side) -> list[SentinelUse]:
        """The sentinels that a class compares something with."""
        constants = self.messages(side).constants
        # Asked once for each op that the class calls, and each time every method is walked.
        return self.change.memo(
            ("protocol.compared-sentinels", unit.path, owner, side),
            lambda: list(compared_sentinels(unit, owner, constants, side)),
        )
