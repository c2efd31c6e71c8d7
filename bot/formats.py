"""The formats of a review by name.

The command line offers the names without loading what writes the reports.
"""

from __future__ import annotations

# The module in `bot.reports` that writes each format.
MODULES = {
    "terminal": "terminal",
    "markdown": "markdown",
    "json": "json_v1",
    "sarif": "sarif",
    "rdjson": "rdjson",
    "github": "github",
}
FORMATS = tuple(MODULES)
