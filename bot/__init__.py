"""The application: events and command lines in, reports out."""

from importlib import metadata

try:
    __version__ = metadata.version("specbot")
except metadata.PackageNotFoundError:
    # A checkout that nobody installed; the version is made from git's tags when it is built.
    __version__ = "0+unknown"
