"""Build the documentation site: `python -m tests.site FOLDER`; the pages are in FOLDER/html."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.site.pages import write_site

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write_site(folder)
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict"]
    sys.exit(subprocess.run([*command, "-f", str(folder / "mkdocs.yml")], check=False).returncode)
