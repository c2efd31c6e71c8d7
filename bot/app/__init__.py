"""The GitHub App itself: how it is made, and what it lacks."""
