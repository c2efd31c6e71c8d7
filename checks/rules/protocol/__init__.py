"""What two programs share: messages, packed words, layouts, and the tests that fix them."""
