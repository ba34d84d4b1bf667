"""ACORT in PyTorch: a step of cross-entropy training, and beam search with cached keys and values.

Modules are named as Espalier names its parameters, so that both sides load one file of weights.
"""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from same import sample

DROP, DROP_SOURCE = 0.1, 0.5
HIDDEN = -1e9


class Norm(nn.Module):
    """The deviation has divisor n-1, and eps is added to it."""

    def __init__(self, d):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(d)), nn.Parameter(torch.zeros(d))

    def forward(self, x):
        dev, mean = torch.std_mean(x, -1, keepdim=True)
        return torch.addcmul(self.shift, (x - mean) / (dev + 1e-6), self.gain)


class Attention(nn.Module):
    """Keys and values share a projection."""

    def __init__(self, d, heads):
        super().__init__()
        self.n = heads
        self.q, self.kv, self.o = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)

    def split(self, x):
        return x.unflatten(-1, (self.n, -1)).transpose(1, 2)

    def keys(self, x):
        return self.split(self.kv(x))

    def forward(self, x, k, bias):
        y = F.scaled_dot_product_attention(self.split(self.q(x)), k, k, attn_mask=bias, dropout_p=DROP if self.training else 0.0)
        return self.o(y.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    def __init__(self, d, hidden, heads, decoder):
        super().__init__()
        self.self_attn_norm, self.self_attn = Norm(d), Attention(d, heads)
        if decoder:
            self.cross_attn_norm, self.cross_attn = Norm(d), Attention(d, heads)
        else:
            self.geometry = nn.Linear(64, heads)
        self.ffn_norm, self.ffn = Norm(d), nn.ModuleDict({"in": nn.Linear(d, hidden), "out": nn.Linear(hidden, d)})
        self.drop = nn.Dropout(DROP)

    def feed(self, x):
        return x + self.drop(self.ffn["out"](self.drop(F.relu(self.ffn["in"](self.ffn_norm(x))))))


class Stack(nn.Module):
    def __init__(self, at, d, hidden, heads, decoder):
        super().__init__()
        self.at = at
        self.layers = nn.ModuleList(Layer(d, hidden, heads, decoder) for _ in range(max(at) + 1))
        self.norm = Norm(d)


def relation(boxes):
    """Relative positions of box pairs, 64 sines and cosines."""
    low, high = boxes[..., :2], boxes[..., 2:]
    centre, size = (low + high) / 2, high - low + 1
    gap = ((centre[:, :, None] - centre[:, None]).abs() / size[:, :, None]).clamp(min=1e-3).log()
    ratio = (size[:, :, None] / size[:, None]).log()
    waves = 1000.0 ** (-torch.arange(8, dtype=boxes.dtype) / 8)
    angles = (100 * torch.cat([gap, ratio], -1)[..., None] * waves).flatten(-2)
    return torch.cat([angles.sin(), angles.cos()], -1)


class Acort(nn.Module):
    def __init__(self, d, hidden, heads, features, vocab, at, length):
        super().__init__()
        self.d = d
        self.feature = nn.Linear(features, d)
        self.encoder, self.decoder = Stack(at, d, hidden, heads, False), Stack(at, d, hidden, heads, True)
        self.token, self.output = nn.Embedding(vocab, d), nn.Linear(d, vocab)
        self.drop, self.drop_source = nn.Dropout(DROP), nn.Dropout(DROP_SOURCE)
        angle = torch.arange(length)[:, None] * torch.exp(torch.arange(0, d, 2) * (-math.log(10000.0) / d))
        self.register_buffer("places", torch.stack([angle.sin(), angle.cos()], -1).flatten(1), persistent=False)

    def encode(self, feats, boxes):
        x, e = self.drop_source(F.relu(self.feature(feats))), relation(boxes)
        for i in self.encoder.at:
            l = self.encoder.layers[i]
            bias = l.geometry(e).permute(0, 3, 1, 2).clamp(min=1e-6).log()
            y = l.self_attn_norm(x)
            x = l.feed(x + l.drop(l.self_attn(y, l.self_attn.keys(y), bias)))
        return self.encoder.norm(x)

    def memory(self, x, repeat):
        return [l.cross_attn.keys(x).repeat_interleave(repeat, 0) for l in self.decoder.layers]

    def decode(self, ids, memory, past=None, at=0):
        """past is a list with the keys of each layer position, which grow."""
        n = ids.shape[1]
        x = self.drop(self.token(ids) * math.sqrt(self.d) + self.places[at:at + n])
        bias = None
        if past is None:
            bias = torch.triu(torch.full((n, n), HIDDEN), 1) + torch.where(ids.eq(0), HIDDEN, 0.0)[:, None, None]
        for j, i in enumerate(self.decoder.at):
            l = self.decoder.layers[i]
            y = l.self_attn_norm(x)
            k = l.self_attn.keys(y)
            if past is not None:
                k = past[j] = k if past[j] is None else torch.cat([past[j], k], 2)
            x = x + l.drop(l.self_attn(y, k, bias))
            x = l.feed(x + l.drop(l.cross_attn(l.cross_attn_norm(x), memory[i], None)))
        return self.output(self.decoder.norm(x))


def beam_search(model, feats, boxes, k, bos, eos, steps):
    """Beams that end are lowered by 1000 and stay; no length normalisation. Returns the results of each image, best first."""
    b = feats.shape[0]
    memory = model.memory(model.encode(feats, boxes), k)
    past = [None] * len(model.decoder.at)
    sums = torch.full((b, k), -1e30)
    sums[:, 0] = 0
    token, tokens = torch.full((b * k, 1), bos), torch.zeros(b, k, 0, dtype=torch.long)
    base, done = torch.arange(b)[:, None] * k, [[] for _ in range(b)]
    for t in range(steps):
        logp = model.decode(token, memory, past, t)[:, -1].log_softmax(-1).view(b, k, -1)
        sums, flat = (sums[:, :, None] + logp).view(b, -1).topk(k)
        source, token = flat // logp.shape[-1], flat % logp.shape[-1]
        tokens = torch.cat([tokens.gather(1, source[:, :, None].expand_as(tokens)), token[:, :, None]], 2)
        rows = (source + base).view(-1)
        past = [p[rows] for p in past]
        ended = token.eq(eos) if t + 1 < steps else torch.ones_like(token, dtype=torch.bool)
        for i, j in ended.nonzero().tolist():
            done[i].append((sums[i, j].item(), tokens[i, j].tolist()))
        sums = sums - 1000.0 * ended
        token = token.view(-1, 1)
    return [sorted(x, key=lambda r: -r[0])[:k] for x in done]


def load(weights, batch, config, threads):
    from safetensors.torch import load_file
    torch.set_num_threads(threads)
    model = Acort(**config)
    model.load_state_dict(load_file(weights))
    return model, load_file(batch)


def train(weights, batch, config, threads):
    model, data = load(weights, batch, config, threads)
    feats, boxes, seqs = data["feats"], data["boxes"], data["seqs"]
    repeat = seqs.shape[0] // feats.shape[0]
    real = seqs[:, 1:].ne(0)

    def loss():
        logits = model.decode(seqs[:, :-1], model.memory(model.encode(feats, boxes), repeat))
        logp = logits.log_softmax(-1).gather(2, seqs[:, 1:, None])[..., 0]
        return -(logp * real).sum() / real.sum()

    model.eval()
    first = loss()
    first.backward()
    values = {"loss": [first.item()], "dtoken": sample(model.token.weight.grad), "dfeature": sample(model.feature.weight.grad),
              "dquery": sample(model.encoder.layers[0].self_attn.q.weight.grad), "dkv": sample(model.decoder.layers[0].cross_attn.kv.weight.grad)}
    model.train()

    def stepper(**kw):
        adam = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, **kw)

        def step():
            adam.zero_grad(set_to_none=True)
            loss().backward()
            nn.utils.clip_grad_value_(model.parameters(), 0.1)
            adam.step()
        return step
    return [("Adam fused", stepper(fused=True)), ("Adam foreach", stepper(foreach=True))], values


def decode(weights, batch, config, threads, images, beam, bos, eos, steps):
    model, data = load(weights, batch, config, threads)
    model.eval()
    feats, boxes = data["feats"][:images], data["boxes"][:images]

    def f():
        with torch.inference_mode():
            return beam_search(model, feats, boxes, beam, bos, eos, steps)
    return [("KV cache", f)], {"scores": [r[0][0] for r in f()]}


WORKS = {"train": train, "decode": decode}
