"""Python modules that tests find in place of a framework or of a compiled extension.

A name that a stand-in does not have raises `NotEmulated`, which the runner of tests reports as a
test that was not run.
"""


class NotEmulated(NotImplementedError):
    """What a test needs and no stand-in has."""
