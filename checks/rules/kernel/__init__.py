"""Rules about device code and the code around it: kernels, ops, and the tensors that go into them."""
