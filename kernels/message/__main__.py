"""Prints LAYOUT.md."""

from kernels.message.layout import document

print(document(), end="")
