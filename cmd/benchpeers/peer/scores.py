"""sacrebleu and rouge_score on two files of lines."""


def lines(path):
    with open(path, encoding="utf-8", newline="\n") as f:
        return f.read().split("\n")[:-1]


def bleu(pred, refs):
    from sacrebleu.metrics import BLEU
    h, r = lines(pred), lines(refs)
    score = BLEU().corpus_score(h, [r]).score
    return [("corpus_score", lambda: BLEU().corpus_score(h, [r]))], {"sacrebleu": [score]}


def chrf(pred, refs):
    from sacrebleu.metrics import CHRF
    h, r = lines(pred), lines(refs)
    score = CHRF().corpus_score(h, [r]).score
    return [("corpus_score", lambda: CHRF().corpus_score(h, [r]))], {"chrf": [score]}


def rouge(pred, refs):
    from rouge_score import rouge_scorer
    h, r = lines(pred), lines(refs)

    def f():
        s = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
        return sum(s.score(a, b)["rougeL"].fmeasure for a, b in zip(r, h)) / len(h)
    return [("rougeL, stemmer", f)], {"rougeL": [f()]}


def where():
    """The folder of METEOR's jar and tables, as the codes of its characters."""
    import os
    import pycocoevalcap
    return [("", os.getpid)], {"folder": [ord(c) for c in os.path.join(list(pycocoevalcap.__path__)[0], "meteor")]}


WORKS = {"bleu": bleu, "chrf": chrf, "rouge": rouge, "where": where}
