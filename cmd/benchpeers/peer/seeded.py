"""Weights that are functions of their names and shapes; features.go makes the same."""
import math
import zlib

import numpy as np

from same import fill


def value(name, shape):
    u = fill(zlib.crc32(name.encode()), *shape)
    if name.endswith("running_var"):
        return np.float32(1) + np.float32(0.2) * u
    if name.endswith((".bias", "running_mean", "_bias")):
        return np.float32(0.05) * u
    if len(shape) == 1:
        if not name.endswith(".weight"):
            return np.float32(0.1) * u
        return np.float32(0.25 if ".bn3." in name else 1) * (np.float32(1) + np.float32(0.1) * u)
    gain = 6 if len(shape) == 4 else 3
    return np.float32(math.sqrt(gain / math.prod(shape[1:]))) * u


def load(module, prefix):
    import torch
    state = {k: torch.from_numpy(value(prefix + k, tuple(v.shape))) for k, v in module.state_dict().items() if not k.endswith("num_batches_tracked")}
    module.load_state_dict(state, strict=False)
    return module.eval()
