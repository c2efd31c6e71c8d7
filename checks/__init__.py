"""Pure analysis: a change set in, findings out. No network, no database, no processes, no torch."""
