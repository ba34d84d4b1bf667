"""T5 of transformers in PyTorch: training steps, whole or with adapters, and generation."""
import json
import os
import sys

import torch
import transformers as T
from safetensors.torch import load_file
from torch import nn

from same import fill, sample

T.logging.set_verbosity_error()
LAST = "DenseReluDense"


def load(folder, own=True):
    """With own the weights lie in memory of their own, aligned, else in the mapped file."""
    with open(os.path.join(folder, "sizes.json")) as f:
        sizes = json.load(f)
    config = T.T5Config(**sizes, dropout_rate=0.0, decoder_start_token_id=0, pad_token_id=0, eos_token_id=1)
    with torch.device("meta"):
        model = T.T5ForConditionalGeneration(config)
    weights = load_file(os.path.join(folder, "model.safetensors"))
    if own:
        weights = {k: v.clone() for k, v in weights.items()}
    model.load_state_dict(weights, strict=False, assign=True)
    model.tie_weights()
    for stack in (model.encoder, model.decoder):
        stack.embed_tokens.weight = model.shared.weight
    model.lm_head.weight = model.shared.weight
    left = [n for n, p in model.named_parameters() if p.is_meta]
    if left:
        raise RuntimeError("no weights for " + ", ".join(left[:3]))
    return model


def batch(folder):
    data = load_file(os.path.join(folder, "batch.safetensors"))
    return data["source"], data["target"]


class Adapted(nn.Module):
    """A feed-forward and an adapter beside it."""

    def __init__(self, inner, width, r):
        super().__init__()
        self.inner, self.down, self.up = inner, nn.Linear(width, r), nn.Linear(r, width)

    def forward(self, x):
        return self.inner(x) + self.up(nn.functional.gelu(self.down(x), approximate="tanh"))


def adapted(model, folder, r):
    """Adapters at all feed-forwards; they and the norms' gains are trained."""
    model.requires_grad_(False)
    values = load_file(os.path.join(folder, "adapters.safetensors"))
    for kind, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i, block in enumerate(stack.block):
            path = "%s.block.%d.layer.%d.adapter." % (kind, i, len(block.layer) - 1)
            a = Adapted(block.layer[-1].DenseReluDense, model.config.d_model, r)
            for name, to in (("down.weight", a.down.weight), ("down.bias", a.down.bias), ("up.weight", a.up.weight), ("up.bias", a.up.bias)):
                to.data.copy_(values[path + name])
            block.layer[-1].DenseReluDense = a
    for name, p in model.named_parameters():
        if "layer_norm" in name:
            p.requires_grad = True


def training(folder, threads, adapters, own=True):
    torch.set_num_threads(threads)
    model = load(folder, own).train()
    if adapters:
        adapted(model, folder, adapters)
    source, target = batch(folder)
    trained = [p for p in model.parameters() if p.requires_grad]
    adam = torch.optim.AdamW(trained, lr=1e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01, fused=True)

    def backward():
        loss = model(input_ids=source, labels=target).loss
        loss.backward()
        return loss

    def step():
        backward()
        adam.step()
        adam.zero_grad(set_to_none=True)
    return model, adam, backward, step


def train(folder, threads, adapters):
    model, adam, backward, step = training(folder, threads, adapters)
    values = {"loss": [backward().item()]}
    last = model.encoder.block[0].layer[-1].DenseReluDense
    values["gradient"] = sample((last.up if adapters else last.wo).weight.grad)
    adam.zero_grad(set_to_none=True)
    return [("eager, AdamW fused", step)], values


def generate(folder, threads, beams, tokens):
    torch.set_num_threads(threads)
    model = load(folder).eval()
    source, _ = batch(folder)
    how = T.GenerationConfig(max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, num_beams=beams, length_penalty=1.0, early_stopping=False,
                             pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)

    def f():
        with torch.inference_mode():
            return model.generate(input_ids=source, attention_mask=torch.ones_like(source), generation_config=how)
    return [("generate", f)], {"ids": [float(i) for row in f()[:, 1:] for i in row]}


def most_memory():
    """The most memory of this process so far, in 1e6 bytes."""
    with open("/proc/self/status") as f:
        return next(int(l.split()[1]) * 1024 / 1e6 for l in f if l.startswith("VmHWM"))


WORKS = {"train": train, "generate": generate}

if __name__ == "__main__":  # two steps with adapters; prints the most memory beyond that of the imports
    base = most_memory()
    work = training(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), own=False)[3]
    work()
    work()
    print(most_memory() - base)
