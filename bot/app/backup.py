"""A copy of what the service knows, and its return: the database, while it is in use, and the
baselines."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from bot.db.engine import engine_for
from bot.errors import UserError
from bot.redact import redact
from bot.settings import Settings

_SQLITE, _POSTGRESQL, _BASELINES = "specbot.sqlite", "specbot.pgdump", "baselines"


def backup(settings: Settings, output: Path) -> None:
    """Write the archive `output`, which must not exist. Raises `UserError`.

    The file of an SQLite database alone is not enough: what was written last is in another file
    beside it.
    """
    if output.exists():
        raise UserError("backup-exists", path=str(output))
    url = make_url(settings.database)
    with tempfile.TemporaryDirectory(prefix="specbot-backup-") as name:
        folder = Path(name)
        if url.get_backend_name() == "sqlite":
            _copy_sqlite(Path(str(url.database)), folder / _SQLITE)
        else:
            _run_tool(["pg_dump", "--format=custom", f"--file={folder / _POSTGRESQL}"], url)
        partial = output.with_name(output.name + ".partial")
        try:
            with tarfile.open(partial, "w:gz") as archive:
                for path in sorted(folder.iterdir()):
                    archive.add(path, path.name)
                baselines = _baselines(settings)
                if baselines.is_dir():
                    archive.add(baselines, _BASELINES)
            partial.chmod(0o600)
            partial.replace(output)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise UserError("unwritable", path=str(output), reason=error.strerror) from None


def restore(settings: Settings, archive: Path) -> None:
    """Put what the archive holds into a database that has nothing. Raises `UserError`."""
    url = make_url(settings.database)
    with tempfile.TemporaryDirectory(prefix="specbot-restore-") as name:
        folder = Path(name)
        _unpack(archive, folder)
        is_sqlite = url.get_backend_name() == "sqlite"
        held = folder / (_SQLITE if is_sqlite else _POSTGRESQL)
        if not held.exists():
            raise UserError("backup-other-database", path=str(archive))
        if is_sqlite:
            _put_sqlite(held, Path(str(url.database)))
        else:
            _require_empty(settings.database)
            _run_tool(["pg_restore", "--no-owner", "--exit-on-error", str(held)], url)
        if (folder / _BASELINES).is_dir():
            shutil.copytree(folder / _BASELINES, _baselines(settings), dirs_exist_ok=True)


def _baselines(settings: Settings) -> Path:
    return settings.baselines_dir or settings.data_dir / "baselines"


def _copy_sqlite(source: Path, target: Path) -> None:
    if not source.exists():
        raise UserError("backup-nothing", path=str(source))
    try:
        with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
            read.backup(written)
    except sqlite3.Error as error:
        raise UserError("database", reason=str(error)) from None


def _put_sqlite(held: Path, target: Path) -> None:
    if target.exists():
        raise UserError("restore-not-empty", place=str(target))
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.copyfile(held, target)
    target.chmod(0o600)


def _require_empty(database: str) -> None:
    engine = engine_for(database)
    try:
        with engine.connect() as connection:
            tables = sa.inspect(connection).get_table_names()
    except sa.exc.SQLAlchemyError as error:
        raise UserError("database", reason=redact(str(error).splitlines()[0])) from None
    finally:
        engine.dispose()
    if tables:
        raise UserError("restore-not-empty", place=redact(database))


def _unpack(archive: Path, folder: Path) -> None:
    try:
        with tarfile.open(archive, "r:gz") as packed:
            for member in packed:
                _unpack_member(packed, member, folder)
    except OSError as error:
        raise UserError("unreadable", path=str(archive), reason=error.strerror) from None
    except (tarfile.TarError, EOFError):
        raise UserError("backup-broken", path=str(archive)) from None


def _unpack_member(packed: tarfile.TarFile, member: tarfile.TarInfo, folder: Path) -> None:
    """A plain file or a folder; a backup holds nothing else.

    `extractall(filter="data")` would do, but came with Python 3.11.4.
    """
    target = folder / member.name
    if not target.resolve().is_relative_to(folder.resolve()):
        raise tarfile.TarError(member.name)
    if member.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    read = packed.extractfile(member) if member.isreg() else None
    if read is None:
        raise tarfile.TarError(member.name)
    target.parent.mkdir(parents=True, exist_ok=True)
    with read, target.open("xb") as written:
        shutil.copyfileobj(read, written)


def _run_tool(command: list[str], url: URL) -> None:
    """PostgreSQL's own programs, told of the database by the environment: anybody on the machine
    can read the arguments of a process."""
    given = {
        "PGHOST": url.host,
        "PGPORT": str(url.port) if url.port else None,
        "PGUSER": url.username,
        "PGPASSWORD": str(url.password) if url.password else None,
        "PGDATABASE": url.database,
    }
    env = os.environ | {name: value for name, value in given.items() if value}
    if command[0] == "pg_restore":
        command = [*command[:1], f"--dbname={url.database}", *command[1:]]
    try:
        done = subprocess.run(command, env=env, capture_output=True, check=False)
    except FileNotFoundError:
        raise UserError("tool-missing", name=command[0]) from None
    if done.returncode:
        text = done.stderr.decode("utf-8", "replace").strip()
        raise UserError("database", reason=redact(text.splitlines()[-1] if text else command[0]))
