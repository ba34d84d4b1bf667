"""Makes the tokenizers of this folder and what they give: NAME.json and NAME.jsonl.

usage: make.py (in this folder; tokenizers 0.22.2)

A line of NAME.jsonl has a text, ids and offsets (code points) without special ids, tokens (added ones by name), ids with them, and what those decode to,
with special tokens and without. The first lines have a pair too: its ids, types and mask.
"""
import json
import random

from tokenizers import Regex, Tokenizer, decoders as D, models as M, normalizers as N, pre_tokenizers as P, processors as PP, trainers as T

CORPUS = ["A man riding a wave on top of a surfboard.", "The naïve café costs 1,000.50 euros, don't you think?", "unbelievable unbeliever believes",
          "two dogs run through the green grass 12 34 567", "日本語 你好 世界", "Hello HELLO hello World world_wide", "e\u0301te\u0301 \ufb01ne \uff21\uff22"] * 6
SPECIALS = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]
PARTS = ["A man", "surf", "board", " ", "  ", "don't", "12", "345", "\u00e9", "e\u0301", "\ufb01", "\uff21", "\u4f60\u597d", "\n", "\t", "\u00a0", "\u3000", "<mask>", "<s>", "</s>", "Xyz", "qq", "\U0001f600", "!", "...",
         "_", "\u0130", "\u2460", "\u0344", "hello", "WORLD", "\u0660", "\x01", "\u200b", "\u2581", "The", "unbelievable"]


def template(t):
    return PP.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B:1 </s>:1", special_tokens=[(s, t.token_to_id(s)) for s in ("<s>", "</s>")])


def bpe(**k):
    extra = {x: y for x, y in k.items() if x in ("end_of_word_suffix", "continuing_subword_prefix")}
    return M.BPE(**k), T.BpeTrainer(vocab_size=220, special_tokens=SPECIALS, show_progress=False, **extra)


def unigram():
    return M.Unigram(), T.UnigramTrainer(vocab_size=150, special_tokens=SPECIALS, unk_token="<unk>", show_progress=False)


def wordpiece():
    return M.WordPiece(unk_token="<unk>"), T.WordPieceTrainer(vocab_size=220, special_tokens=SPECIALS, show_progress=False)


def wordlevel():
    return M.WordLevel(unk_token="<unk>"), T.WordLevelTrainer(vocab_size=60, special_tokens=SPECIALS, show_progress=False)


LLAMA = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
KINDS = {  # model, normalizer, pre-tokenizer, decoder
    "unigram": (unigram(), N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " ")]), P.Metaspace(), D.Metaspace()),
    "unigram_first": (unigram(), N.Sequence([N.Strip(), N.NFD(), N.StripAccents(), N.Lowercase()]), P.Metaspace(prepend_scheme="first", split=False), D.Metaspace(prepend_scheme="first")),
    "llama": (bpe(unk_token="<unk>", fuse_unk=True, byte_fallback=True), N.Sequence([N.Prepend("\u2581"), N.Replace(" ", "\u2581")]), None,
              D.Sequence([D.Replace("\u2581", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])),
    "llama3": (bpe(ignore_merges=True), N.NFC(), P.Sequence([P.Split(Regex(LLAMA), "isolated"), P.ByteLevel(add_prefix_space=False, use_regex=False)]), D.ByteLevel()),
    "bytelevel": (bpe(), None, P.ByteLevel(), D.ByteLevel()),
    "suffix": (bpe(unk_token="<unk>", end_of_word_suffix="</w>"), N.NFKD(), P.Sequence([P.WhitespaceSplit(), P.Punctuation("merged_with_previous")]), D.BPEDecoder()),
    "prefix": (bpe(unk_token="<unk>", continuing_subword_prefix="##"), N.BertNormalizer(), P.BertPreTokenizer(), D.WordPiece()),
    "wordpiece": (wordpiece(), N.BertNormalizer(lowercase=False), P.Sequence([P.BertPreTokenizer(), P.Digits(individual_digits=True)]), D.WordPiece()),
    "wordlevel": (wordlevel(), N.Lowercase(), P.Whitespace(), None),
    "splits": (bpe(unk_token="<unk>"), None, P.Sequence([P.Split(" ", "merged_with_next"), P.Digits(), P.Split(Regex("[aeiou]+"), "contiguous"), P.Split(Regex("[a-z]+|\\s"), "removed", invert=True)]), D.Fuse()),
    "fixed": (bpe(unk_token="<unk>"), N.Replace("a", "bb"), P.Sequence([P.CharDelimiterSplit("o"), P.FixedLength(4)]), D.CTC()),
}
for i, (name, ((model, trainer), normalizer, pre, decoder)) in enumerate(KINDS.items()):
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    if "byte" in name or name == "llama3":
        trainer.initial_alphabet = P.ByteLevel.alphabet()
        trainer.vocab_size = 330
    t.train_from_iterator(CORPUS, trainer)
    if decoder:
        t.decoder = decoder
    if name != "bytelevel":
        t.post_processor = template(t)
    else:
        t.post_processor = PP.ByteLevel(trim_offsets=True)
    x = json.loads(t.to_str())
    if name == "llama":  # with pieces for bytes
        v = x["model"]["vocab"]
        for b in range(256):
            v["<0x%02X>" % b] = len(v)
    x["added_tokens"] += [
        {"id": 9999, "content": "Xyz", "single_word": True, "lstrip": True, "rstrip": False, "normalized": False, "special": False},
        {"id": 9999, "content": "qq", "single_word": False, "lstrip": False, "rstrip": True, "normalized": True, "special": False},
    ]
    text = json.dumps(x, ensure_ascii=False, separators=(",", ":"))
    with open(name + ".json", "w", encoding="utf-8") as f:
        f.write(text + "\n")
    t = Tokenizer.from_str(text)
    r = random.Random(i)
    texts = ["", " "] + ["".join(r.choice(PARTS) for _ in range(r.randrange(1, 9))) for _ in range(60)]
    with open(name + ".jsonl", "w", encoding="utf-8") as f:
        for k, s in enumerate(texts):
            e, whole = t.encode(s, add_special_tokens=False), t.encode(s)
            row = {"text": s, "ids": e.ids, "offsets": e.offsets, "tokens": [t.id_to_token(j) if j and j in t.get_added_tokens_decoder() else p for j, p in zip(e.ids, e.tokens)],
                   "special": whole.ids, "decoded": t.decode(whole.ids, skip_special_tokens=False), "plain": t.decode(whole.ids, skip_special_tokens=True)}
            if k < 12:
                p = t.encode(s, texts[k + 7])
                row["pair"] = {"text": texts[k + 7], "ids": p.ids, "types": p.type_ids, "mask": p.special_tokens_mask}
            f.write(json.dumps(row, ensure_ascii=True, separators=(",", ":")) + "\n")
