"""NumPy: matrix products by the OpenBLAS of its wheel."""
import numpy as np

from same import fill, sample

limits = []


def gemm(m, n, k, threads):
    from threadpoolctl import threadpool_info, threadpool_limits
    limits.append(threadpool_limits(threads, "blas"))
    x, w, c = fill(1, m, k), fill(2, k, n), np.empty((m, n), np.float32)
    wt = np.ascontiguousarray(w.T)
    blas = [i for i in threadpool_info() if i["user_api"] == "blas"]
    label = ", ".join("%s %s %s" % (i["internal_api"], i["version"], i.get("architecture", "")) for i in blas)
    return [(label, lambda: np.matmul(x, w, out=c)), (label + ", transposed", lambda: np.matmul(x, wt.T, out=c))], {"c": sample(x @ w)}


WORKS = {"gemm": gemm}
