"""How the tables changed, one module for each change: Alembic runs those that a database lacks."""
