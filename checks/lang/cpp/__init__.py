"""C++ and CUDA: an offset-preserving mask, tree-sitter-cuda, and the lowering to the common IR."""
