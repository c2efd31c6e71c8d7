"""The pages that people look at: a board over all pull requests, and a page for each."""
