"""What the last CI report says of one job that failed."""

from __future__ import annotations

from bot.chat.base_configuration import read_base_configuration
from bot.chat.commit_jobs import CommitJob
from bot.chat.context import Refusal, Task
from bot.chat.job_names import Aliases, find_jobs
from checks.ci.model import Job


def explain_job(task: Task, name: str) -> str | None:
    """The report's words about the failed job that `name` means; None where it means none.

    Raises `Refusal` where it may mean several.
    """
    head, explained = task.context.records.explanations(task.job.key)
    texts = {job["id"]: job["text"] for job in explained}

    def read_aliases() -> Aliases:
        return read_base_configuration(task, task.pull())[0].ci.aliases

    jobs = []
    for job in explained:
        failed = Job(job["id"], job["name"], workflow=job["workflow"])
        jobs.append(CommitJob(failed))
    try:
        found = find_jobs(jobs, name, read_aliases) if jobs else []
    except Refusal as refusal:
        if refusal.key == "unknown-job":
            return None
        raise
    if not found:
        return None
    parts = [task.words("comments.explain-ci-head", head=head[:12])]
    for commit_job in found:
        parts.append(f"### {task.context.words.style.code(commit_job.full_name)}")
        parts.append(texts[commit_job.job.id].strip())
    return "\n\n".join(parts)


def explained_names(task: Task) -> list[str]:
    """The names of the jobs that the last CI report explains."""
    _, explained = task.context.records.explanations(task.job.key)
    return [job["name"] for job in explained]
