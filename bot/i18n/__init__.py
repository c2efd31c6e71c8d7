"""Sentences for people, in Chinese and English.

The sentences stand in `templates/`; a `Catalog` finds and fills them, and escapes every argument
for the kind of output at hand (plain text, Markdown, HTML).
"""
