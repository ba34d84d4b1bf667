package pipeline

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Graph is a set of stages and of the edges between them. The order of the
// nodes does not matter: Run sorts them.
type Graph struct {
	Nodes []Node
}

// A Node is one stage of a graph.
type Node struct {
	Name  string // unique; after a matrix's expansion such as "train[method=lora,seed=3]"
	Stage Stage  // a pointer to the stage's struct; Check has not been called yet
	// Inputs says which node each input comes from: input name -> node name.
	// A gathered input has one entry a member, named "scores[seed=3]".
	Inputs  map[string]string
	MaxDead *Limit // of this stage; nil means DefaultLimit
	Pos     string // where the node stands in the job file ("job.yaml:12"), for messages
}

// A Limit says how many dead letters are too many: more than N, or more than
// Percent of the rows seen. A non-empty file of which every row is dead is
// always too much.
type Limit struct {
	N       int64
	Percent float64 // used if IsRate
	IsRate  bool
}

// DefaultLimit is one percent of the rows seen; NoLimit accepts any number.
var (
	DefaultLimit = Limit{Percent: 1, IsRate: true}
	NoLimit      = Limit{Percent: 100, IsRate: true}
)

// ParseLimit reads "20" or "1.5%".
func ParseLimit(s string) (Limit, error) {
	if p, ok := strings.CutSuffix(s, "%"); ok {
		v, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || !(v >= 0 && v <= 100) || math.IsNaN(v) {
			return Limit{}, fmt.Errorf("%q: want a number of rows or a percentage from 0%% to 100%%", s)
		}
		return Limit{Percent: v, IsRate: true}, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return Limit{}, fmt.Errorf("%q: want a number of rows or a percentage from 0%% to 100%%", s)
	}
	return Limit{N: n}, nil
}

// String returns the form that ParseLimit reads.
func (l Limit) String() string {
	if l.IsRate {
		return strconv.FormatFloat(l.Percent, 'g', -1, 64) + "%"
	}
	return strconv.FormatInt(l.N, 10)
}

// exceeded reports whether dead of seen rows are too many.
func (l Limit) exceeded(dead, seen int64) bool {
	if !l.IsRate {
		return dead > l.N
	}
	return float64(dead)*100 > l.Percent*float64(max(seen, dead))
}

// sorted returns the indices of the nodes so that each comes after its inputs,
// keeping the given order where it may, and every fault of the graph at once.
func (g *Graph) sorted() ([]int, error) {
	byName := make(map[string]int, len(g.Nodes))
	var errs []error
	for i, n := range g.Nodes {
		switch {
		case n.Name == "":
			errs = append(errs, usagef(n.Pos, "stage %d has no name", i))
		case n.Stage == nil:
			errs = append(errs, usagef(n.Pos, "stage %s has no kind", n.Name))
		}
		if j, ok := byName[n.Name]; ok {
			errs = append(errs, usagef(n.Pos, "stage %s: the name is taken by stage %d", n.Name, j))
			continue
		}
		byName[n.Name] = i
	}
	for _, n := range g.Nodes {
		for _, in := range sortedKeys(n.Inputs) {
			if _, ok := byName[n.Inputs[in]]; !ok {
				errs = append(errs, usagef(n.Pos, "stage %s: input %s: no stage named %q", n.Name, in, n.Inputs[in]))
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}

	const white, grey, black = 0, 1, 2
	colour := make([]int, len(g.Nodes))
	order := make([]int, 0, len(g.Nodes))
	var path []string
	var visit func(i int) error
	visit = func(i int) error {
		n := g.Nodes[i]
		switch colour[i] {
		case black:
			return nil
		case grey:
			from := slices.Index(path, n.Name)
			loop := append(slices.Clone(path[from:]), n.Name)
			return usagef(n.Pos, "stage %s depends on itself: %s", n.Name, strings.Join(loop, " <- "))
		}
		colour[i] = grey
		path = append(path, n.Name)
		for _, in := range sortedKeys(n.Inputs) {
			if err := visit(byName[n.Inputs[in]]); err != nil {
				return err
			}
		}
		path = path[:len(path)-1]
		colour[i] = black
		order = append(order, i)
		return nil
	}
	for i := range g.Nodes {
		if err := visit(i); err != nil {
			return nil, err
		}
	}
	return order, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
