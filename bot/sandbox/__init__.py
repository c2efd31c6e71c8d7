"""Work on what strangers wrote, in processes of its own that can be limited and stopped.

`client` is the service's side. `forkserver` is the process that has read all code once and forks a
child for each job; `programs` are what such a child runs.
"""
