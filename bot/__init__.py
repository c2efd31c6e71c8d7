"""The application: events and command lines in, reports out."""

__version__ = "0.1.0"
