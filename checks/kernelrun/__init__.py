"""Kernel runs as data: what a harness wrote is parsed, judged against the reference, and compared
with another run.
"""
