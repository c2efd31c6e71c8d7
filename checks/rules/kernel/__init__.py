"""Rules about device code and the code around it: kernels, ops, and the tensors they get."""
