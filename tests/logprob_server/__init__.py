"""A server process with the OpenAI-compatible API over `kernels.decode`, to record logprobs
from."""
