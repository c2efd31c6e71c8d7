"""Changes that give other logprobs than the ones that tests have stored."""
