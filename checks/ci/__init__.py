"""Why CI is red: a run's typed data in, a report with causes and their evidence out.

`model` is what a collector fills, `folder` the same as JSON documents, `analyse` makes of it what
`report` holds.
"""
