"""Writes ../tables.go: what the public tokenizers hold of each code point.

usage: tables.py CHAR_CLASSES.json SPIECE.model > ../tables.go

The first file is the measured table of the goldens (tokenizers 0.22.2, regex 2026.11.19), the second T5's model, whose
character map shows which characters join the one before. Run with Python 3.11 (Unicode 14), tokenizers 0.22.2, sentencepiece.
"""
import json
import re
import sys
import unicodedata

from tokenizers import normalizers
from transformers.utils import sentencepiece_model_pb2_new as pb

CODES = [c for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
classes = json.load(open(sys.argv[1]))
expand = lambda name: {c: k for a, b, k in classes[name] for c in range(a, b + 1)}
rust_bytes, python_bytes, bert = expand("bytelevel_fast"), expand("bytelevel_python_regex"), expand("bert_fast")
LNS = {None: 0, "L": 1, "N": 2, "S": 3}
BERT = {None: 0, "drop": 1, "space": 2, "cjk": 3, "punct": 4}

model = pb.ModelProto()
model.ParseFromString(open(sys.argv[2], "rb").read())
t5 = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
strip = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False)
lower = normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=True)
nfd = normalizers.NFD()
inside = lambda n, s: n.normalize_str("a" + s + "b")[1:-1]


def bert_slow(c):
    """BasicTokenizer: clean_text, then ideographs, then str.split, then punctuation."""
    ch, k = chr(c), unicodedata.category(chr(c))
    if c in (0, 0xFFFD) or (k[0] == "C" and ch not in "\t\n\r"):
        return "drop"
    if k == "Zs" or ch.isspace():
        return "space"
    for a, b in ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)):
        if a <= c <= b:
            return "cjk"
    if 33 <= c <= 47 or 58 <= c <= 64 or 91 <= c <= 96 or 123 <= c <= 126 or k[0] == "P":
        return "punct"


decomposition = lambda c: [int(x, 16) for x in unicodedata.decomposition(chr(c)).split()] if unicodedata.decomposition(chr(c))[:1] not in ("", "<") else []
SECONDS = {decomposition(c)[1] for c in CODES if len(decomposition(c)) == 2} | set(range(0x1161, 0x1176)) | set(range(0x11A8, 0x11C3))


def props(c):
    ch = chr(c)
    p = LNS[rust_bytes.get(c)] | LNS[python_bytes.get(c)] << 2
    p |= BERT[bert.get(c)] << 4 | BERT[bert_slow(c)] << 7
    rust_nfd, py_nfd = inside(nfd, ch), unicodedata.normalize("NFD", ch)
    flags = [
        (10, rust_nfd == ch and inside(strip, ch) == ""),
        (11, unicodedata.category(ch) == "Mn"),
        (12, ch.isspace()),
        (13, (ch + "\u03a3").lower().endswith("\u03c2")),
        (14, ("a" + ch + "\u03a3").lower().endswith("\u03c2") and not (ch + "\u03a3").lower().endswith("\u03c2")),
        (15, ch.lower() != ch),
        (16, inside(lower, ch) != ch),
        (17, py_nfd != ch),
        (18, rust_nfd != ch),
        (19, unicodedata.combining(ch) != 0),
        (20, 0x80 <= c < 0x10000 and t5.normalize_str("\u00aa" + ch) == "a" and t5.normalize_str(ch) != ""),
        (21, re.match(r"\w", ch) is not None),
        (22, re.match(r"\d", ch) is not None),
        (24, unicodedata.normalize("NFC", ch) != ch or c in SECONDS or unicodedata.combining(ch) != 0),
    ]
    # what the fast classes' decomposition does not know as a combining mark stays where it is
    k = unicodedata.combining(ch)
    if k:
        other = "\u0334" if k > 1 else "\u0301"  # classes 1 and 230
        s = "a" + (ch + other if k > 1 else other + ch)
        flags.append((23, nfd.normalize_str(s) == unicodedata.normalize("NFD", s)))
    for bit, on in flags:
        p |= on << bit
    return p


def write_ranges():
    rows, last = [], None
    for c in range(0x110000):
        p = 0 if 0xD800 <= c <= 0xDFFF else props(c)
        if p != last:
            rows.append((c, p))
            last = p
    print("// ranges holds the first code point of each range, shifted left by 32, and its properties.")
    print("var ranges = [...]uint64{")
    for i in range(0, len(rows), 8):
        print("\t" + ", ".join("0x%x" % (c << 32 | p) for c, p in rows[i:i + 8]) + ",")
    print("}\n")


def quote(s):
    return '"' + "".join("\\u%04x" % ord(x) if ord(x) < 0x10000 else "\\U%08x" % ord(x) for x in s) + '"'


def write_maps():
    print("// lowers holds pairs of a code point and its lower case, by code point; U+0130 is not among them.")
    print("var lowers = [...][2]rune{")
    rows = [(c, inside(lower, chr(c))) for c in CODES if c != 0x130]
    rows = [(c, s) for c, s in rows if s != chr(c)]
    assert all(len(s) == 1 for _, s in rows)
    assert all(chr(c).lower() in (chr(c), s) for c, s in rows) and all(chr(c).lower() == chr(c) for c in CODES if c not in dict(rows) and c != 0x130)
    for i in range(0, len(rows), 10):
        print("\t" + ", ".join("{0x%x, 0x%x}" % (c, ord(s)) for c, s in rows[i:i + 10]) + ",")
    print("}\n")
    print("// decomposed holds what code points become in NFD, Hangul left out, by code point.")
    print("var decomposed = [...]struct {\n\tr  rune\n\tto string\n}{")
    rows = [(c, unicodedata.normalize("NFD", chr(c))) for c in CODES if not 0xAC00 <= c <= 0xD7A3]
    rows = [(c, s) for c, s in rows if s != chr(c)]
    for i in range(0, len(rows), 6):
        print("\t" + ", ".join("{0x%x, %s}" % (c, quote(s)) for c, s in rows[i:i + 6]) + ",")
    print("}\n")
    print("// composed holds pairs of code points and what they become in NFC, Hangul left out, by pair.")
    print("var composed = [...][3]rune{")
    rows = []
    for c in CODES:
        if len(decomposition(c)) == 2 and unicodedata.normalize("NFC", chr(c)) == chr(c):
            rows.append((*decomposition(c), c))
    rows.sort()
    for i in range(0, len(rows), 8):
        print("\t" + ", ".join("{0x%x, 0x%x, 0x%x}" % r for r in rows[i:i + 8]) + ",")
    print("}\n")
    print("// combining holds the first and last code point and the class of combining marks.")
    print("var combining = [...][3]rune{")
    rows = []
    for c in CODES:
        k = unicodedata.combining(chr(c))
        if k and rows and rows[-1][1] == c - 1 and rows[-1][2] == k:
            rows[-1][1] = c
        elif k:
            rows.append([c, c, k])
    for i in range(0, len(rows), 8):
        print("\t" + ", ".join("{0x%x, 0x%x, %d}" % tuple(r) for r in rows[i:i + 8]) + ",")
    print("}")


print("// Code generated by _gen/tables.py from Unicode %s and the goldens' measurements. DO NOT EDIT.\n" % unicodedata.unidata_version)
print("package chars\n")
write_ranges()
write_maps()
