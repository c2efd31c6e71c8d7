"""What the service's workflows work with: settings, GitHub, database, clones and words, in one
place.

It also has their rules for trying again: which errors pass, how a workflow that must wait leaves
its place on the worker and comes back, and the numbers for Prometheus.
"""
