# Programs compiled by nvcc. Building them needs a CUDA toolkit and no GPU.
