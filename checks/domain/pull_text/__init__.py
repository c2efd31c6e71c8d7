"""What people write around a change: the title, the description, the template for it."""
