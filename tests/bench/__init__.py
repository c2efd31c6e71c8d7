"""How long a review takes, and what its time follows; `python -m tests.bench`."""
