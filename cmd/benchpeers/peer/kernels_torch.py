"""PyTorch: matrix products, attention, rows, updates."""
import torch
import torch.nn.functional as F

from same import fill, sample

T = torch.from_numpy


def no_grad(f):
    def g():
        with torch.inference_mode():
            return f()
    return g


def gemm(m, n, k, threads):
    torch.set_num_threads(threads)
    x, w, c = T(fill(1, m, k)), T(fill(2, k, n)), torch.empty(m, n)
    wt = w.t().contiguous()
    variants = [("mm", no_grad(lambda: torch.mm(x, w, out=c))), ("linear", no_grad(lambda: torch.mm(x, wt.t(), out=c)))]
    return variants, {"c": sample(x @ w)}


def gemm_bf16(m, n, k, threads):
    torch.set_num_threads(threads)
    x, w = T(fill(1, m, k)).bfloat16(), T(fill(2, k, n)).bfloat16()
    c, wt = torch.empty(m, n, dtype=torch.bfloat16), w.t().contiguous()
    variants = [("mm", no_grad(lambda: torch.mm(x, w, out=c))), ("linear", no_grad(lambda: torch.mm(x, wt.t(), out=c)))]
    return variants, {"c": sample(x.float() @ w.float())}


def decode(m, n, k, threads):
    torch.set_num_threads(threads)
    x, w, c = T(fill(1, m, k)), T(fill(2, k, n)), torch.empty(m, n)
    wt = w.t().contiguous()
    variants = [("mm", no_grad(lambda: torch.mm(x, w, out=c))), ("linear", no_grad(lambda: F.linear(x, wt)))]
    if m == 1:
        variants += [("mv", no_grad(lambda: torch.mv(wt, x[0], out=c[0])))]
    return variants, {"c": sample(x @ w)}


def attention(batch, heads, tokens, width, threads):
    """Forward and backward with an additive bias that takes no gradient."""
    torch.set_num_threads(threads)
    q, k, v, dout = (T(fill(s, batch, tokens, heads, width)) for s in (1, 2, 3, 4))
    bias = T(fill(5, 1, heads, tokens, tokens))

    def make(as_model, full):
        ins = [x.transpose(1, 2) if as_model else x.transpose(1, 2).contiguous() for x in (q, k, v)]
        ins = [x.detach().requires_grad_() for x in ins]
        do = dout.transpose(1, 2) if as_model else dout.transpose(1, 2).contiguous()
        mask = bias.expand(batch, -1, -1, -1) if full else bias

        def f():
            y = F.scaled_dot_product_attention(*ins, attn_mask=mask)
            return (y,) + torch.autograd.grad(y, ins, do)
        return f
    variants = [("views", make(True, False)), ("contiguous", make(False, False)), ("contiguous, mask expanded", make(False, True))]
    names = ("out", "dq", "dk", "dv")
    return variants, {n: sample(x.transpose(1, 2)) for n, x in zip(names, make(True, False)())}


def rows(kind, rows, width, threads):
    torch.set_num_threads(threads)
    x = T(fill(1, rows, width)) * 4
    o = torch.empty_like(x)
    if kind == "softmax":
        f = lambda: torch.softmax(x, -1)
        variants = [("softmax", no_grad(f)), ("softmax, out=", no_grad(lambda: torch.softmax(x, -1, out=o)))]
    elif kind == "layer norm":
        gain, shift = T(fill(2, width)), T(fill(3, width))
        f = lambda: F.layer_norm(x, (width,), gain, shift, 1e-5)
        mean, rstd = torch.empty(rows, 1), torch.empty(rows, 1)
        into = torch.ops.aten.native_layer_norm.out
        variants = [("layer_norm", no_grad(f)), ("native_layer_norm, out=", no_grad(lambda: into(x, [width], gain, shift, 1e-5, out0=o, out1=mean, out2=rstd)))]
    else:
        how = {"GELU, erf": "none", "GELU, tanh": "tanh"}[kind]
        f = lambda: F.gelu(x, approximate=how)
        variants = [("gelu", no_grad(f)), ("gelu, out=", no_grad(lambda: torch._C._nn.gelu(x, approximate=how, out=o)))]
    return variants, {"out": sample(f())}


def adam(n, threads):
    torch.set_num_threads(threads)
    variants, values = [], None
    for name, kw in (("fused", {"fused": True}), ("foreach", {"foreach": True}), ("plain", {"foreach": False})):
        p = torch.nn.Parameter(T(fill(1, n)))
        p.grad = T(fill(2, n))
        o = torch.optim.Adam([p], lr=1e-3, betas=(0.9, 0.98), eps=1e-9, **kw)
        o.step()
        if values is None:
            values = {"p": sample(p)}
        variants.append((name, o.step))
    return variants, values


WORKS = {"gemm": gemm, "gemm_bf16": gemm_bf16, "decode": decode, "attention": attention, "rows": rows, "adam": adam}
