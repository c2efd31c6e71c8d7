"""The review as a step of a GitHub Actions workflow, for teams that want no server: `python -m
bot.action`."""
