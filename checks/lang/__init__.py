"""From the text of a C++, CUDA or Python file to one intermediate form (`ir`)."""
