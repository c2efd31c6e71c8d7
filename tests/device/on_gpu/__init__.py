"""Whether the emulator gives what a GPU gives, on a repository's own ops and inputs of their tests.

    python -m tests.device.on_gpu.record FOLDER --repo FastDeploy --paths 'custom_ops/gpu_ops/*'
    python -m tests.device.on_gpu.run FOLDER --arch sm_90       where there are nvcc and a GPU
    python -m tests.device.on_gpu.compare FOLDER --device H100 -o FILE

The calls that the repository's tests make are recorded, and varied as `specbot device compare`
varies them. Ops that are built with PyTorch are left out. The code under test is not confined: this
is for a repository that one trusts. The second step needs numpy besides, and nothing else.
"""
