"""Shared building blocks of the columnar decoders and encoders: column buffers, decode plans and kernels."""
