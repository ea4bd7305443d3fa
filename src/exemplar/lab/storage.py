"""What the lab keeps, in SQLite or PostgreSQL: participants, their sessions, and every acknowledged trial.

A trial is acknowledged only after its transaction is committed, so that a killed server loses nothing it has confirmed. No
process holds anything that is not here: several may serve one database.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DatabaseError, DBAPIError

from exemplar.errors import UserError

METADATA = sa.MetaData()
WAIT_MS = 10_000  # how long SQLite waits for whoever is writing
LONG = sa.Text

# What every process must agree on: the secret behind the images' addresses, the experimenter's token; and the experiments as
# they were served last, so that commands know them.
SETTINGS = sa.Table(
    "settings", METADATA, sa.Column("name", sa.String(64), primary_key=True), sa.Column("value", LONG, nullable=False)
)
PARTICIPANTS = sa.Table(
    "participants",
    METADATA,
    sa.Column("id", sa.String(80), primary_key=True),
    sa.Column("experiment", sa.String(64), nullable=False, index=True),
    sa.Column(
        "token", sa.String(64), nullable=False, unique=True
    ),  # its SHA-256: who reads the database cannot take part
    sa.Column("agent", sa.String(80), nullable=False),  # "people", or the bot's
    sa.Column("seed", sa.BigInteger, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),  # active, finished or rejected
    sa.Column("code", sa.String(16), nullable=False),
    sa.Column("asked", LONG, nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("last_seen", sa.Float, nullable=False),
    sa.Column("excluded", sa.Boolean, nullable=False, default=False),
    sa.Column("why", LONG, nullable=False, default=""),
)
SESSIONS = sa.Table(
    "sessions",
    METADATA,
    sa.Column("id", sa.String(80), primary_key=True),
    sa.Column("participant", sa.String(80), sa.ForeignKey("participants.id", ondelete="CASCADE"), nullable=False),
    sa.Column("experiment", sa.String(64), nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("part", sa.String(200), nullable=False),  # what is counterbalanced: the subtask, the set of concepts
    sa.Column("plan", LONG, nullable=False),
    sa.Column("n_trials", sa.Integer, nullable=False),
    sa.Column("n_done", sa.Integer, nullable=False, default=0),
    sa.Column("n_correct", sa.Integer, nullable=False, default=0),
    sa.Column("tab", sa.String(64), nullable=False),
    sa.Column("started", sa.Float, nullable=False),
    sa.Column("finished", sa.Float),
    sa.UniqueConstraint("participant", "number"),
    sa.Index("sessions_by_part", "experiment", "kind", "part"),
)
TRIALS = sa.Table(
    "trials",
    METADATA,
    sa.Column("session", sa.String(80), sa.ForeignKey("sessions.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("trial", sa.Integer, primary_key=True),
    sa.Column("answer", LONG, nullable=False),
    sa.Column("correct", sa.Boolean),
    sa.Column("received", sa.Float, nullable=False),
)
# What participants are shown at the end. Here and not in files, so that it goes with them, on every machine.
RESULTS = sa.Table(
    "results",
    METADATA,
    sa.Column("participant", sa.String(80), sa.ForeignKey("participants.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("result", LONG, nullable=False),
)
# Locked, read-only, gone; or two requests at the same instant, the second of which finds what the first one wrote.
PASSING = (sa.exc.OperationalError, sa.exc.InternalError, sa.exc.InterfaceError, sa.exc.IntegrityError)


class DatabaseBusy(UserError):
    """The database did not answer in time, cannot be written, or went away: the client sends again."""


class Storage:
    """The tables of one database. url: SQLAlchemy's; a path is an SQLite file."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.sqlite = url.startswith("sqlite")
        # SQLite makes writers wait by sleeping longer and longer: threads of one process stand in line instead
        self.line = threading.Lock()
        options: dict[str, Any] = {"pool_pre_ping": True}
        if self.sqlite:
            options = {"connect_args": {"check_same_thread": False}}
        else:
            options |= {"pool_size": 10, "max_overflow": 20, "pool_timeout": 10.0}
        self.engine = sa.create_engine(url, **options)
        if self.sqlite:
            sa.event.listen(self.engine, "connect", _prepare_sqlite)

    def create(self) -> None:
        """Make the tables where they are missing; several processes may do so at once."""
        with self._plain_errors(), self.engine.begin() as connection:
            if not self.sqlite:
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(6274)"))
            METADATA.create_all(connection)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        with self._busy_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that is committed at the end, or not at all. In SQLite it has the only right to write from its
        beginning, so that what it reads still holds when it writes."""
        with self._my_turn(), self._busy_errors(), self.engine.connect() as connection:
            if self.sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            connection.commit()

    @contextmanager
    def _my_turn(self) -> Iterator[None]:
        if not self.sqlite:
            yield
            return
        if not self.line.acquire(timeout=WAIT_MS / 1000):
            raise DatabaseBusy("Too many requests wait for the database.")
        try:
            yield
        finally:
            self.line.release()

    def alone(self, connection: sa.Connection, name: str) -> None:
        """Until the transaction ends, nobody else is inside one that asked for the same name (SQLite: nobody else writes)."""
        if not self.sqlite:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext(:name))"), {"name": name})

    def read_setting(self, name: str) -> str | None:
        with self.reading() as connection:
            found: str | None = connection.execute(sa.select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
        return found

    def get_setting(self, name: str, default: str) -> str:
        """The value of this name; the first process to ask decides it. Later ones only read, as from a read-only copy."""
        found = self.read_setting(name)
        if found is not None:
            return found
        with self.writing() as connection:
            self.alone(connection, "settings")
            made = connection.execute(sa.select(SETTINGS.c.value).where(SETTINGS.c.name == name)).scalar()
            if made is not None:
                return str(made)
            connection.execute(SETTINGS.insert().values(name=name, value=default))
            return default

    def set_setting(self, name: str, value: str) -> None:
        with self.writing() as connection:
            self.alone(connection, "settings")
            connection.execute(SETTINGS.delete().where(SETTINGS.c.name == name))
            connection.execute(SETTINGS.insert().values(name=name, value=value))

    def wipe(self) -> None:
        """Nothing that was deleted stays readable in the files (PostgreSQL sees to that by itself, in time)."""
        if self.sqlite:
            with self._busy_errors(), self.engine.connect() as connection:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def _busy_errors(self) -> Iterator[None]:
        try:
            yield
        except PASSING as problem:
            raise DatabaseBusy(f"The database cannot be used at the moment ({_reason(problem)}).") from problem
        except sa.exc.TimeoutError as problem:
            raise DatabaseBusy("Too many requests wait for the database.") from problem

    @contextmanager
    def _plain_errors(self) -> Iterator[None]:
        """At the start a database that cannot be used is the experimenter's mistake."""
        try:
            yield
        except DatabaseError as problem:
            raise UserError(
                f"The database {_without_password(self.url)} cannot be used: {_reason(problem)}."
            ) from problem


def open_storage(database: str | Path) -> Storage:
    """database: an SQLAlchemy URL (postgresql://…), or the path of an SQLite file, made where there is none."""
    text = str(database)
    if "://" not in text:
        path = Path(text).expanduser().absolute()
        if path.is_dir():
            raise UserError(f"{path} is a folder: give --database the name of a file in it.")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UserError(f"{path.parent} cannot be made ({problem.strerror}): choose another place.") from problem
        text = f"sqlite:///{path}"
    if text.startswith("postgresql://"):
        text = text.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        storage = Storage(text)
    except (sa.exc.ArgumentError, sa.exc.NoSuchModuleError, ImportError) as problem:
        raise UserError(
            f"{_without_password(text)} is no database that can be used ({problem}): give a file, or postgresql://…"
        ) from problem
    storage.create()
    return storage


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where `writing` says so
    cursor = connection.cursor()
    for setting in (f"busy_timeout = {WAIT_MS}", "synchronous = NORMAL", "foreign_keys = ON", "secure_delete = ON"):
        cursor.execute(f"PRAGMA {setting}")
    try:
        cursor.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as problem:  # a read-only one can be read all the same
        if "readonly" not in str(problem):
            raise
    cursor.close()


def _reason(problem: DBAPIError) -> str:
    return str(problem.orig).strip().splitlines()[0] if problem.orig else "it does not answer"


def _without_password(url: str) -> str:
    try:
        return sa.engine.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError:
        return "given"
