"""The changes. A module that has landed is never altered: databases have been through it."""
