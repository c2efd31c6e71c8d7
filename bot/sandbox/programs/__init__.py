"""What a child of the fork server does: one module for each kind of job, JSON in, JSON out.

The programs see neither the service's environment nor its database.
"""
