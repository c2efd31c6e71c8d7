"""GitHub's webhooks: verified, stored, and turned into work for the workers.

`app` is the web application, `delivery_batch` stores many deliveries in one transaction, and each
module of `handlers` says what one kind of event asks for.
"""
