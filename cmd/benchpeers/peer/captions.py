"""Scores captions with pycocoevalcap, as one process: captions.py ANNOTATIONS RESULTS [meteor]. Prints JSON."""
import contextlib
import io
import json
import sys

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge
from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer


def main():
    refs, hyps = {}, {}
    for a in json.load(open(sys.argv[1], encoding="utf-8"))["annotations"]:
        refs.setdefault(a["image_id"], []).append(a)
    for r in json.load(open(sys.argv[2], encoding="utf-8")):
        hyps[r["image_id"]] = [r]
    hyps = {i: hyps[i] for i in refs}
    with contextlib.redirect_stdout(io.StringIO()):
        refs, hyps = PTBTokenizer().tokenize(refs), PTBTokenizer().tokenize(hyps)
        bleu = Bleu(4).compute_score(refs, hyps)[0]
        out = {"bleu-%d" % (i + 1): float(b) for i, b in enumerate(bleu)}
        out["rouge-l"] = float(Rouge().compute_score(refs, hyps)[0])
        out["cider"] = float(Cider().compute_score(refs, hyps)[0])
        if "meteor" in sys.argv[3:]:
            from pycocoevalcap.meteor.meteor import Meteor
            out["meteor"] = float(Meteor().compute_score(refs, hyps)[0])
    print(json.dumps(out))


main()
