"""BLIS: matrix products by the system's libblis (Debian: apt-get install libblis4-openmp)."""
import ctypes
import ctypes.util

import numpy as np

from same import fill, sample

name = ctypes.util.find_library("blis")
if name is None:
    raise ImportError("no libblis on this system (Debian: apt-get install libblis4-openmp)")
blis = ctypes.CDLL(name)
blis.bli_info_get_version_str.restype = ctypes.c_char_p
blis.bli_arch_string.restype = ctypes.c_char_p
blis.bli_init()
label = "BLIS %s %s" % (blis.bli_info_get_version_str().decode(), blis.bli_arch_string(blis.bli_arch_query_id()).decode())


def gemm(m, n, k, threads):
    blis.bli_thread_set_num_threads(ctypes.c_int64(threads))
    x, w, c = fill(1, m, k), fill(2, k, n), np.zeros((m, n), np.float32)
    wt = np.ascontiguousarray(w.T)
    p = lambda a: a.ctypes.data_as(ctypes.c_void_p)
    i, f = ctypes.c_int, ctypes.c_float
    row, no, trans = i(101), i(111), i(112)

    def plain():
        blis.cblas_sgemm(row, no, no, i(m), i(n), i(k), f(1), p(x), i(k), p(w), i(n), f(0), p(c), i(n))

    def transposed():
        blis.cblas_sgemm(row, no, trans, i(m), i(n), i(k), f(1), p(x), i(k), p(wt), i(k), f(0), p(c), i(n))
    plain()
    return [(label, plain), (label + ", transposed", transposed)], {"c": sample(c)}


WORKS = {"gemm": gemm}
