"""Does the work of other programs as it is told, one JSON object a line (see Worker in duel/worker.go).

worker.py MODULE: a module has a dict WORKS of functions; each takes the arguments of a "prepare" and returns
(variants, values): variants is a list of (name, function that does the work once), values a dict of what the
result is, to be compared. The variant that proves fastest is the one that is timed.
"""
import json
import os
import sys
import time
import warnings

warnings.filterwarnings("ignore")
os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error", DO_NOT_TRACK="1")


def fastest(variants):
    """The variant with the least time of some calls; all must do the same work."""
    if len(variants) == 1:
        return variants[0]
    best, chosen, failures = None, None, []
    for name, f in variants:
        try:
            times = []
            for _ in range(2):
                t = time.perf_counter()
                f()
                times.append(time.perf_counter() - t)
            one = times.pop()
            times = [one]
            for _ in range(min(30, int(0.3 / max(one, 1e-6)))):
                t = time.perf_counter()
                f()
                times.append(time.perf_counter() - t)
        except Exception as e:  # a variant that this machine cannot do
            failures.append("%s: %s" % (name, e))
            continue
        if best is None or min(times) < best:
            best, chosen = min(times), (name, f)
    if chosen is None:
        raise RuntimeError("; ".join(failures))
    return chosen


def main():
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print must not get among the answers
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    works, broken, run = None, None, None
    try:
        works = __import__(sys.argv[1]).WORKS
    except Exception as e:
        broken = e
    for line in sys.stdin:
        ask = json.loads(line)
        try:
            if broken is not None:
                raise broken
            if "prepare" in ask:
                run = None
                variants, values = works[ask["prepare"]](**ask["args"])
                name, run = fastest(variants)
                answer = {"variant": name, "values": values, "versions": versions()}
            else:
                times = []
                for _ in range(ask["calls"]):
                    t = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - t)
                answer = {"seconds": times}
        except (ImportError, FileNotFoundError) as e:
            answer = {"error": str(e), "missing": True}
        except Exception as e:
            answer = {"error": "%s: %s" % (type(e).__name__, str(e)[:500])}
        print(json.dumps(answer), file=out, flush=True)


def versions():
    """Versions of the packages in use that do the work."""
    import importlib.metadata as md
    known = ("torch", "numpy", "transformers", "tokenizers", "sentencepiece", "tiktoken", "open_clip_torch", "onnxruntime", "openvino", "pillow", "sacrebleu", "rouge_score", "blingfire")
    modules = {"pillow": "PIL", "open_clip_torch": "open_clip"}
    return {p: md.version(p) for p in known if modules.get(p, p) in sys.modules and has(md, p)}


def has(md, p):
    try:
        return bool(md.version(p))
    except md.PackageNotFoundError:
        return False


if __name__ == "__main__":
    main()
