"""CLIP's image trunks in PyTorch, ONNX Runtime and OpenVINO: RN101 to its grid, ViT-L/14 to its embedding."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

import seeded
from same import fill, sample


class Bottleneck(nn.Module):
    def __init__(self, inner, planes, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inner, planes, 1, bias=False), nn.BatchNorm2d(planes)
        self.conv2, self.bn2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False), nn.BatchNorm2d(planes)
        self.pool = nn.AvgPool2d(stride) if stride > 1 else nn.Identity()
        self.conv3, self.bn3 = nn.Conv2d(planes, planes * 4, 1, bias=False), nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride > 1 or inner != planes * 4:
            self.downsample = nn.Sequential(nn.Conv2d(inner, planes * 4, 1, bias=False), nn.BatchNorm2d(planes * 4))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.pool(self.relu(self.bn2(self.conv2(y))))
        y = self.bn3(self.conv3(y))
        x = x if self.downsample is None else self.downsample(self.pool(x))
        return self.relu(y + x)


class ResNet(nn.Module):
    """Returns the grid, before the attention pool."""

    def __init__(self, layers, width):
        super().__init__()
        half = width // 2
        self.conv1, self.bn1 = nn.Conv2d(3, half, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(half)
        self.conv2, self.bn2 = nn.Conv2d(half, half, 3, padding=1, bias=False), nn.BatchNorm2d(half)
        self.conv3, self.bn3 = nn.Conv2d(half, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
        self.relu, self.pool, inner = nn.ReLU(inplace=True), nn.AvgPool2d(2), width
        for s, n in enumerate(layers):
            blocks = []
            for b in range(n):
                blocks.append(Bottleneck(inner, width << s, 2 if s and not b else 1))
                inner = 4 * width << s
            setattr(self, "layer%d" % (s + 1), nn.Sequential(*blocks))

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.pool(self.relu(self.bn3(self.conv3(x))))
        return self.layer4(self.layer3(self.layer2(self.layer1(x))))


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Heads(nn.Module):
    """Attention with the names of nn.MultiheadAttention."""

    def __init__(self, width, heads):
        super().__init__()
        self.in_proj_weight, self.in_proj_bias = nn.Parameter(torch.empty(3 * width, width)), nn.Parameter(torch.empty(3 * width))
        self.out_proj, self.n = nn.Linear(width, width), heads

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = F.linear(x, self.in_proj_weight, self.in_proj_bias).view(b, t, 3, self.n, c // self.n).permute(2, 0, 3, 1, 4)
        return self.out_proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1, self.attn, self.ln_2 = nn.LayerNorm(width), Heads(width, heads), nn.LayerNorm(width)
        self.mlp = nn.Sequential()
        self.mlp.add_module("c_fc", nn.Linear(width, 4 * width))
        self.mlp.add_module("gelu", QuickGELU())
        self.mlp.add_module("c_proj", nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class ViT(nn.Module):
    """Returns the embedding."""

    def __init__(self, patch, width, layers, heads, out, size=224):
        super().__init__()
        n = (size // patch) ** 2 + 1
        self.conv1 = nn.Conv2d(3, width, patch, stride=patch, bias=False)
        self.class_embedding, self.positional_embedding = nn.Parameter(torch.empty(width)), nn.Parameter(torch.empty(n, width))
        self.ln_pre, self.ln_post, self.proj = nn.LayerNorm(width), nn.LayerNorm(width), nn.Parameter(torch.empty(width, out))
        self.transformer = nn.Module()
        self.transformer.resblocks = nn.ModuleList(Block(width, heads) for _ in range(layers))

    def forward(self, x):
        x = self.conv1(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_embedding.expand(x.shape[0], 1, -1), x], 1) + self.positional_embedding
        x = self.ln_pre(x)
        for b in self.transformer.resblocks:
            x = b(x)
        return self.ln_post(x[:, 0]) @ self.proj


def fold(module):
    """Batch norms folded into the convolutions before them."""
    from torch.nn.utils.fusion import fuse_conv_bn_eval
    last = None
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d):
            last = name
        elif isinstance(child, nn.BatchNorm2d):
            setattr(module, last, fuse_conv_bn_eval(getattr(module, last), child))
            setattr(module, name, nn.Identity())
        else:
            fold(child)
    return module


def fold_gelu(net):
    """x*sigmoid(1.702x) as one operation: SiLU between matrices that hold the factor."""
    for b in net.transformer.resblocks:
        b.mlp.c_fc.weight *= 1.702
        b.mlp.c_fc.bias *= 1.702
        b.mlp.c_proj.weight /= 1.702
        b.mlp.gelu = nn.SiLU(inplace=True)
    return net


def build(model, batch):
    net = {"RN101": lambda: ResNet((3, 4, 23, 3), 64), "ViT-L/14": lambda: ViT(14, 1024, 24, 16, 768)}[model]()
    return fold(seeded.load(net, "visual.")).requires_grad_(False), torch.from_numpy(fill(9, batch, 224, 224, 3)).permute(0, 3, 1, 2).contiguous()


def cosine(a, b):
    """The least cosine of two results' cells."""
    return F.cosine_similarity(a.float(), b.float(), dim=-1).min().item()


def channels_last(y):
    return y.permute(0, 2, 3, 1) if y.dim() == 4 else y


def pytorch(model, batch, threads, how):
    torch.set_num_threads(threads)
    net, x = build(model, batch)
    half = how == "bf16"

    def guarded(f, x):
        def g():
            with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=half):
                return f(x)
        return g

    variants = [("eager", guarded(net, x))]
    if model != "RN101":
        variants.append(("eager, SiLU", guarded(fold_gelu(build(model, batch)[0]), x)))
    if model == "RN101":
        last, y = build(model, batch)[0].to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
        variants.append(("channels_last", guarded(last, y)))
    values = {"out": sample(channels_last(variants[0][1]().float()))}
    if half:  # a variant must keep the direction of each cell
        with torch.inference_mode():
            exact = channels_last(net(x))
        whole = build(model, batch)[0].to(torch.bfloat16, memory_format=torch.channels_last)
        variants.append(("all bfloat16, channels_last", guarded(whole, x.to(torch.bfloat16, memory_format=torch.channels_last))))
        named = [("%s, cosine %.5f" % (n, cosine(channels_last(f()), exact)), f) for n, f in variants]
        return [v for v in named if float(v[0].split()[-1]) >= 0.9999] or named[1:2], values
    if model != "RN101":
        return variants[1:], values
    with torch.no_grad():
        traced = torch.jit.optimize_for_inference(torch.jit.freeze(torch.jit.trace(net, x, check_trace=False)))
    variants.append(("jit", guarded(traced, x)))
    if how == "compile":
        import torch._inductor.config as inductor
        inductor.freezing = True
        variants.append(("compile", guarded(torch.compile(last), y)))
    return variants, values


def onnxruntime(model, batch, threads):
    import onnxruntime as rt
    net, x = build(model, batch)
    with tempfile.TemporaryDirectory() as d, torch.no_grad():
        path = os.path.join(d, "m.onnx")
        torch.onnx.export(net, (x,), path, dynamo=True, opset_version=18, verbose=False, external_data=True)
        o = rt.SessionOptions()
        o.intra_op_num_threads, o.inter_op_num_threads = threads, 1
        o.graph_optimization_level = rt.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = rt.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x.numpy()}
    return [("", lambda: session.run(None, feed))], {"out": sample(channels_last(torch.from_numpy(session.run(None, feed)[0])))}


def openvino(model, batch, threads, half):
    import openvino as ov
    net, x = build(model, batch)
    with torch.no_grad():
        m = ov.convert_model(net, example_input=x, input=list(x.shape))
    config = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "bf16" if half else "f32", "PERFORMANCE_HINT": "LATENCY"}
    request, feed = ov.Core().compile_model(m, "CPU", config).create_infer_request(), [x.numpy()]
    y = torch.from_numpy(list(request.infer(feed).values())[0].copy())
    label = ""
    if half:
        with torch.inference_mode():
            label = "cosine %.5f" % cosine(channels_last(y), channels_last(net(x)))
    return [(label, lambda: request.infer(feed))], {"out": sample(channels_last(y))}


WORKS = {"pytorch": pytorch, "onnxruntime": onnxruntime, "openvino": openvino}
