"""What reaches the logprob baselines."""
