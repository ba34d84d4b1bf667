"""Tokenizers: Hugging Face tokenizers (Rust), SentencePiece (C++), tiktoken (Rust), BlingFire (C++), open_clip (Python).

Each takes the lines of a file one after another or as a batch, whichever is faster. The number of threads of the
Rust pool is fixed at its first use, so it comes by the environment. Values are a checksum of the ids of each line.
"""
import gzip
import json
import os
import shutil
import tempfile
import zlib

import numpy as np


def lines(text):
    with open(text, encoding="utf-8", newline="\n") as f:
        return f.read().split("\n")[:-1]


def crc(ids):
    return zlib.crc32(np.asarray(ids, np.int32).tobytes())


def sentencepiece(model, text, threads):
    import sentencepiece as spm
    ls, t = lines(text), spm.SentencePieceProcessor(model_file=model)
    variants = [("batch", lambda: t.encode(ls, num_threads=threads))]
    if threads == 1:
        variants.append(("lines", lambda: [t.encode(l) for l in ls]))
    return variants, {"lines": [crc(x) for x in t.encode(ls)]}


def backend(family, model):
    """The Rust tokenizer of transformers' fast class."""
    import transformers as T
    with tempfile.TemporaryDirectory() as tmp:
        if family == "t5":
            shutil.copy(model, tmp + "/spiece.model")
            cls, config = T.T5TokenizerFast, {"tokenizer_class": "T5Tokenizer"}
        elif family == "bert":
            shutil.copy(model, tmp + "/vocab.txt")
            cls, config = T.BertTokenizerFast, {"tokenizer_class": "BertTokenizer", "do_lower_case": True}
        elif family == "gpt2":
            shutil.copy(os.path.join(model, "encoder.json"), tmp + "/vocab.json")
            shutil.copy(os.path.join(model, "vocab.bpe"), tmp + "/merges.txt")
            cls, config = T.GPT2TokenizerFast, {"tokenizer_class": "GPT2Tokenizer"}
        else:
            merges = gzip.open(model).read().decode("utf-8").split("\n")[1:48895]
            codes = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
            chars = [chr(c) for c in codes] + [chr(256 + i) for i in range(256 - len(codes))]
            vocab = chars + [c + "</w>" for c in chars] + [m.replace(" ", "") for m in merges] + ["<|startoftext|>", "<|endoftext|>"]
            with open(tmp + "/vocab.json", "w", encoding="utf-8") as f:
                json.dump({x: i for i, x in enumerate(vocab)}, f, ensure_ascii=False)
            with open(tmp + "/merges.txt", "w", encoding="utf-8") as f:
                f.write("#version: 0.2\n" + "\n".join(merges) + "\n")
            cls, config = T.CLIPTokenizerFast, {"tokenizer_class": "CLIPTokenizer"}
        with open(tmp + "/tokenizer_config.json", "w") as f:
            json.dump(config, f)
        t = cls.from_pretrained(tmp).backend_tokenizer
    t.no_truncation()
    t.no_padding()
    return t


def tokenizers(family, model, text, threads):
    if os.environ.get("RAYON_NUM_THREADS") != str(threads):
        raise RuntimeError("the pool has another number of threads")
    ls, t = lines(text), backend(family, model)
    variants = [("batch", lambda: t.encode_batch(ls)), ("batch_fast", lambda: t.encode_batch_fast(ls))]
    if threads == 1:
        variants.append(("lines", lambda: [t.encode(l) for l in ls]))
    return variants, {"lines": [crc(x.ids) for x in t.encode_batch(ls)]}


def tiktoken(model, text, threads):
    import tiktoken as tk
    codes = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    byte = {chr(c): c for c in codes}
    rest = [c for c in range(256) if c not in codes]
    byte.update({chr(256 + i): c for i, c in enumerate(rest)})
    with open(os.path.join(model, "encoder.json"), encoding="utf-8") as f:
        ranks = {bytes(byte[c] for c in k): v for k, v in json.load(f).items() if k != "<|endoftext|>"}
    pattern = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
    t = tk.Encoding("gpt2", pat_str=pattern, mergeable_ranks=ranks, special_tokens={"<|endoftext|>": 50256})
    ls = lines(text)
    variants = [("batch", lambda: t.encode_ordinary_batch(ls, num_threads=threads))]
    if threads == 1:
        variants.append(("lines", lambda: [t.encode_ordinary(l) for l in ls]))
        if hasattr(t, "encode_to_numpy"):
            variants.append(("lines to numpy", lambda: [t.encode_to_numpy(l) for l in ls]))
    return variants, {"lines": [crc(t.encode_ordinary(l)) for l in ls]}


def blingfire(text):
    import blingfire as bf
    h = bf.load_model(os.path.join(os.path.dirname(bf.__file__), "bert_base_tok.bin"))
    ls = [l.encode() for l in lines(text)]
    call, out = bf.blingfire.TextToIds, (bf.c_int32 * 1048576)() if hasattr(bf, "c_int32") else None
    texts = lines(text)
    n = [len(l) for l in ls]
    variants = [("text_to_ids", lambda: [bf.text_to_ids(h, l, k + 1, 100) for l, k in zip(texts, n)])]
    if out is not None:
        variants.append(("TextToIds by ctypes", lambda: [call(bf.c_void_p(h), l, k, out, k + 1, 100) for l, k in zip(ls, n)]))
    return variants, {"lines": [crc(bf.text_to_ids(h, l, k + 1, 100, no_padding=True).astype(np.int32)) for l, k in zip(texts, n)]}


def open_clip(text):
    from open_clip.tokenizer import SimpleTokenizer
    t, ls = SimpleTokenizer(), lines(text)

    special = {k: v for k, v in t.cache.items() if k.startswith("<")}

    def f():  # as ours, it has seen no word before
        t.cache.clear()
        t.cache.update(special)
        return [t.encode(l) for l in ls]
    return [("encode", f)], {"lines": [crc(t.encode(l)) for l in ls]}


def clip_model():
    """The path of CLIP's vocabulary that open_clip brings, as the codes of its characters."""
    import open_clip as oc
    return [("", os.getpid)], {"path": [ord(c) for c in os.path.join(os.path.dirname(oc.__file__), "bpe_simple_vocab_16e6.txt.gz")]}


WORKS = {"sentencepiece": sentencepiece, "tokenizers": tokenizers, "tiktoken": tiktoken, "blingfire": blingfire, "open_clip": open_clip, "clip_model": clip_model}
