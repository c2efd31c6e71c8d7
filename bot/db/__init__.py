"""The service's tables, in the database that also holds DBOS's queues (SQLite or PostgreSQL).

`engine` makes connections and tables, `deliveries` has webhooks, pull requests and workers,
`commands` what people asked for in comments, and `rate_limits` the writes to GitHub.
"""
