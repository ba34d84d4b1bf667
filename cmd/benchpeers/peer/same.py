"""Numbers that both sides make, and samples of results that both sides compare (see duel/same.go)."""
import numpy as np


def fill(seed, *shape):
    n = 1
    for s in shape:
        n *= s
    z = np.arange(n, dtype=np.uint32) * np.uint32(0x9E3779B1)
    z += np.uint32(seed * 0x85EBCA77 & 0xFFFFFFFF)
    z ^= z >> 15
    z *= np.uint32(0x85EBCA6B)
    z ^= z >> 13
    z *= np.uint32(0xC2B2AE35)
    z ^= z >> 16
    return (z.view(np.int32).astype(np.float32) * np.float32(2.0 ** -31)).reshape(shape)


def sample(x):
    if hasattr(x, "detach"):
        x = x.detach().float().numpy()
    x = np.ascontiguousarray(x).reshape(-1)
    step = max(x.size // 1000, 1) | 1
    return [float(v) for v in x[::step][:1000]]
