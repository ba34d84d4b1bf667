"""Writes a small random T5 in each format of a public checkpoint. usage: make.py (torch, transformers, safetensors), in this folder"""
import json, os
import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(5)
c = T5Config(vocab_size=11, d_model=8, d_kv=3, d_ff=12, num_layers=1, num_heads=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False,
             relative_attention_num_buckets=8, relative_attention_max_distance=12, dropout_rate=0.0, decoder_start_token_id=0)
m = T5ForConditionalGeneration(c).eval()
with torch.no_grad():
    for p in m.parameters():
        p.copy_(torch.randn(p.shape) * 0.3)
    m.lm_head.weight = torch.nn.Parameter(torch.randn(m.lm_head.weight.shape) * 0.3)
state = {k: v.detach().clone().contiguous() for k, v in m.state_dict().items() if "embed_tokens" not in k}
# The public files hold the copies of the token table, which share its memory.
shared = dict(state)
shared["encoder.embed_tokens.weight"] = shared["decoder.embed_tokens.weight"] = shared["shared.weight"]
config = json.dumps({"model_type": "t5", "vocab_size": 11, "d_model": 8, "d_kv": 3, "d_ff": 12, "num_layers": 1, "num_heads": 2, "feed_forward_proj": "gated-gelu",
                     "tie_word_embeddings": False, "relative_attention_num_buckets": 8, "relative_attention_max_distance": 12, "dropout_rate": 0.0,
                     "decoder_start_token_id": 0, "pad_token_id": 0, "eos_token_id": 1, "layer_norm_epsilon": 1e-6}, indent=1) + "\n"


def folder(name):
    os.makedirs(name, exist_ok=True)
    open(os.path.join(name, "config.json"), "w").write(config)
    return name


torch.save(shared, os.path.join(folder("zip"), "pytorch_model.bin"))
torch.save(shared, os.path.join(folder("legacy"), "pytorch_model.bin"), _use_new_zipfile_serialization=False)
names = sorted(state)
parts = [names[: len(names) // 2], names[len(names) // 2 :]]
index = {}
for i, part in enumerate(parts):
    file = f"pytorch_model-{i + 1:05d}-of-{len(parts):05d}.bin"
    torch.save({k: state[k] for k in part}, os.path.join(folder("sharded"), file))
    index.update({k: file for k in part})
size = sum(4 * v.numel() for v in state.values())
json.dump({"metadata": {"total_size": size}, "weight_map": index}, open("sharded/pytorch_model.bin.index.json", "w"), indent=1)
x = dict(input_ids=torch.tensor([[5, 7, 3, 1], [2, 9, 1, 0]]), attention_mask=torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]]), labels=torch.tensor([[4, 6, 1], [8, 1, -100]]))
m.config._attn_implementation = "eager"
m = m.double()
m.lm_head.weight.data = state["lm_head.weight"].double()
with torch.no_grad():
    loss = float(m(**x).loss)
json.dump({"loss": loss}, open("expected.json", "w"))
print(loss, size)
