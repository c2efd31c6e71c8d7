"""Logprob records at the edge: files, engines over HTTP, and the store of baselines."""
