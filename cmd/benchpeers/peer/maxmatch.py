"""MaxMatch (Dahlmeier and Ng 2012) written plainly, in place of the M2 scorer, which is Python 2 and no package.

maxmatch.py SYSTEM GOLD. Prints JSON: precision, recall and F0.5.

The lattice is a dictionary of edges between places (i, j) of source and system sentence; phrases come from all triples of
its vertices, as in the shortest paths of Floyd and Warshall, and the best path from Bellman and Ford's algorithm with all of
its rounds, both as the scorer has them. It is some four times as fast as the scorer, which copies its tables and joins texts
all the time.
"""
import json
import sys

UNCHANGED, BETA, LITTLE = 2, 0.5, 0.001


def read(path):
    """Yields a sentence's words and its annotators' edits: (start, end, words, set of corrections)."""
    for block in open(path, encoding="utf-8").read().strip().split("\n\n"):
        source, edits = [], {}
        for line in block.split("\n"):
            if line.startswith("S "):
                source = line[2:].split()
            elif line.startswith("A "):
                span, kind, text, _, _, who = line[2:].split("|||")
                start, end = map(int, span.split())
                mine = edits.setdefault(int(who), [])
                if kind != "noop" and 0 <= start <= len(source) and 0 <= end <= len(source):
                    texts = {"" if t.strip() == "-NONE-" else t.strip() for t in text.split("||")}
                    mine.append((start, end, " ".join(source[start:end]), texts))
        yield source, [edits[who] for who in sorted(edits)] or [[]]


def alignments(src, hyp, replace):
    """Returns the edges of all alignments of least cost."""
    n, m = len(src), len(hyp)
    cost = [[i + j if i == 0 or j == 0 else 0 for j in range(m + 1)] for i in range(n + 1)]

    def change(i, j):
        return 0 if src[i - 1] == hyp[j - 1] else replace

    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost[i][j] = min(cost[i - 1][j - 1] + change(i, j), cost[i - 1][j] + 1, cost[i][j - 1] + 1)
    edges, todo, seen = [], [(n, m)], {(n, m)}
    while todo:
        i, j = to = todo.pop()
        back = []
        if i and j and cost[i - 1][j - 1] + change(i, j) == cost[i][j]:
            back.append((i - 1, j - 1))
        if i and cost[i - 1][j] + 1 == cost[i][j]:
            back.append((i - 1, j))
        if j and cost[i][j - 1] + 1 == cost[i][j]:
            back.append((i, j - 1))
        for place in back:
            edges.append((place, to))
            if place not in seen:
                seen.add(place)
                todo.append(place)
    return edges


class Lattice:
    def __init__(self, src, hyp):
        self.src, self.hyp = src, hyp
        self.edges = sorted(alignments(src, hyp, 1) + alignments(src, hyp, 2))
        self.vertices = sorted({v for e in self.edges for v in e} | {(0, 0)})
        self.dist = dict.fromkeys(self.edges, 1)
        self.kept = {(a, b): int(b[0] > a[0] and b[1] > a[1] and src[a[0]] == hyp[a[1]]) for a, b in self.edges}
        self.join()
        at = 0
        while at < len(self.edges):  # a list that is shortened while one walks along it
            e = self.edges[at]
            if self.dist[e] > 1 and self.keeps(e):
                del self.edges[at]
            at += 1

    def join(self):
        dist, kept = self.dist, self.kept
        for k in self.vertices:
            for i in self.vertices:
                first = dist.get((i, k))
                if first is None:
                    continue
                for j in self.vertices:
                    second = dist.get((k, j))
                    if second is None:
                        continue
                    unchanged = kept[i, k] + kept[k, j]
                    if unchanged <= UNCHANGED and first + second < dist.get((i, j), float("inf")):
                        self.edges.append((i, j))
                        dist[i, j], kept[i, j] = first + second, unchanged

    def keeps(self, edge):
        return self.kept[edge] == self.dist[edge]

    def edit(self, edge):
        (i, j), (p, q) = edge
        return i, p, " ".join(self.src[i:p]), " ".join(self.hyp[j:q])

    def weights(self, gold):
        weight, inserted = dict(self.dist), {}
        for e in self.edges:
            mine = self.edit(e)
            if mine[0] == mine[1]:
                inserted.setdefault(mine[0], []).append(e)
            elif any(same(mine, g) for g in gold):
                weight[e] = -len(self.edges)
            elif not self.keeps(e):
                weight[e] += LITTLE
        for at, edges in inserted.items():
            self.insertions(weight, sorted(edges), [g for g in gold if g[0] == g[1] == at])
        return weight

    def insertions(self, weight, edges, gold):
        """Matches gold insertions at one place in order, from both ends inwards."""
        left, right, at = 0, len(edges) - 1, 0
        while left <= right:
            e, from_left = edges[at], at == left
            found = [i for i, g in enumerate(gold) if same(self.edit(e), g)]
            if not found:
                weight[e] += LITTLE
                if from_left:
                    left, at = left + 1, right
                else:
                    right, at = right - 1, left
                continue
            weight[e] = -len(self.edges)
            if from_left:
                gold = gold[found[0] + 1:]
                left += 1
                while left < len(edges) and edges[left][0] != e[1]:
                    weight[edges[left]] += LITTLE
                    left += 1
                at = left
            else:
                gold = gold[:found[-1]]
                right -= 1
                while right >= 0 and edges[right][1] != e[0]:
                    weight[edges[right]] += LITTLE
                    right -= 1
                at = right

    def best(self, gold):
        weight = self.weights(gold)
        far, came = dict.fromkeys(self.vertices, float("inf")), {}
        far[0, 0] = 0
        for _ in self.vertices[1:]:
            for e in self.edges:
                d = far[e[0]] + weight[e]
                if d < far[e[1]]:
                    far[e[1]], came[e[1]] = d, e
        path, v = [], self.vertices[-1]
        while v in came:
            e = came[v]
            if not self.keeps(e):
                path.append(self.edit(e))
            v = e[0]
        return path[::-1]


def same(mine, gold):
    return mine[:3] == gold[:3] and mine[3] in gold[3]


def matched(mine, gold):
    n = last = 0
    for e in mine:
        for i in range(last, len(gold)):
            if same(e, gold[i]):
                n, last = n + 1, i + 1
    return n


def better(a, b):
    """Whether totals (correct, proposed, gold) are better than others."""
    def key(t):
        all_ = BETA ** 2 * t[2] + t[1]
        return (1 + BETA ** 2) * t[0] / all_ if all_ else 1.0, t[0], -all_
    return key(a) > key(b)


def main():
    totals = (0, 0, 0)
    with open(sys.argv[1], encoding="utf-8") as system:
        for (source, annotators), line in zip(read(sys.argv[2]), system):
            lattice = Lattice(source, line.split())
            chosen = None
            for gold in annotators:
                mine = lattice.best(gold)
                now = (totals[0] + matched(mine, gold), totals[1] + len(mine), totals[2] + len(gold))
                if chosen is None or better(now, chosen):
                    chosen = now
            totals = chosen
    correct, proposed, gold = totals
    p, r = correct / proposed if proposed else 1.0, correct / gold if gold else 1.0
    down = BETA ** 2 * p + r
    print(json.dumps({"maxmatch-p": p, "maxmatch-r": r, "maxmatch-f0.5": (1 + BETA ** 2) * p * r / down if down else 0.0}))


main()
