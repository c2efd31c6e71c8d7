"""What the base of a pull request says about its repository."""

from __future__ import annotations

from bot.chat.context import Refusal, Task
from bot.configuration import load_configuration
from bot.errors import UserError
from bot.git import BlobStore, Git, Range
from bot.git.tree import open_trees
from bot.github.app import ANALYSE
from bot.github.client import Json
from checks.core.config import Config


def read_base_configuration(task: Task, pull: Json) -> tuple[Config, Range]:
    """The base's `.specbot.toml` over its profile, and the commits that are compared.

    What a pull request changes in the file has no effect.
    Raises `Refusal` where it has a mistake, or the repository is too large to be fetched.
    """
    job, context = task.job, task.context
    token = context.app.token(job.installation, job.repository_id, ANALYSE)
    target, head = str(pull["base"]["ref"]), str(pull["head"]["sha"])
    try:
        clone, compared = context.checkouts.fetch(job.repository, token, target, head)
    except UserError as error:
        raise Refusal(error.key, **error.as_data()["args"]) from None
    git = Git(clone)
    with BlobStore(git) as blobs:
        base, _ = open_trees(git, blobs, compared.base, compared.head)
        try:
            return load_configuration(base, None, None), compared
        except UserError:
            raise Refusal("base-config") from None
