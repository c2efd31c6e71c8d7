"""The service: webhooks in, durable work, reviews out."""
