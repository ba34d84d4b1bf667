"""Pillow: JPEG files to pixels."""
import io
import os

import numpy as np
from PIL import Image

from same import fill, sample

SOURCES = ("img-pillow/sugarshack_bad_mpo_header.jpg", "img-pillow/flower.jpg", "img-imaging/branches.jpg", "img-pillow/junk_jpeg_header.jpg", "img-pillow/flower2.jpg")


def pictures(data):
    found = [Image.open(p).convert("RGB") for p in (os.path.join(data, s) for s in SOURCES) if os.path.exists(p)]
    return found or [drawn(i) for i in range(5)]


def drawn(seed):
    """A picture of smooth colours with finer and finer detail."""
    x = np.zeros((600, 800, 3), np.float32)
    for k, n in enumerate((4, 12, 40, 150)):
        part = Image.fromarray(((fill(10 * seed + k, n, n, 3) + 1) * 127).astype(np.uint8)).resize((800, 600), Image.Resampling.BICUBIC)
        x += np.asarray(part, np.float32) / 2.0 ** (k + 1)
    return Image.fromarray(x.clip(0, 255).astype(np.uint8))


def photos(data, out, n):
    """Writes n JPEG files of 640x480, 4:2:0, quality 90."""
    os.makedirs(out, exist_ok=True)
    from_ = pictures(data)
    for i in range(n):
        p, k = from_[i % len(from_)], i // len(from_)
        w, h = p.size
        p = p.crop((k % 5, k % 7, w - k % 3, h - k % 4))
        if k % 2:
            p = p.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        p.resize((640, 480), Image.Resampling.BICUBIC).save(os.path.join(out, "%04d.jpg" % i), "JPEG", quality=90, subsampling=2)
    return [("", lambda: None)], {}


def read(out):
    files = []
    for name in sorted(os.listdir(out)):
        with open(os.path.join(out, name), "rb") as f:
            files.append(f.read())
    return files


def pixels(out, size):
    """Decodes all files and, with a size, resizes the shorter side to it and crops the centre."""
    files = read(out)

    def plain(b):
        return Image.open(io.BytesIO(b)).convert("RGB")

    def cut(b):
        p = plain(b)
        w, h = p.size
        w, h = (size, int(size * h / w)) if w <= h else (int(size * w / h), size)
        p = p.resize((w, h), Image.Resampling.BICUBIC)
        x, y = round((w - size) / 2), round((h - size) / 2)
        return p.crop((x, y, x + size, y + size))

    def part(b):
        """The same pixels: only what the crop needs is resized."""
        p = plain(b)
        w, h = p.size
        if w <= h:
            return cut(b)
        scale = h / size
        full = int(size * w / h)
        x = round((full - size) / 2)
        return p.resize((size, size), Image.Resampling.BICUBIC, box=(x * w / full, 0, (x + size) * w / full, h))
    one = cut if size else plain
    values = {"pixels": [v for b in files[:8] for v in sample(np.asarray(one(b)).astype(np.float32))[:500]]}
    variants = [("convert", lambda: [one(b).load() for b in files])]
    if size:
        variants.append(("box of the crop", lambda: [part(b).load() for b in files]))
    return variants, values


WORKS = {"photos": photos, "pixels": pixels}
