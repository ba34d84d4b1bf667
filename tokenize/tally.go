package tokenize

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"
)

// A sideTally counts input or target ids.
type sideTally struct {
	Texts   int64         `json:"texts"`
	IDs     int64         `json:"ids"`
	Unknown int64         `json:"unknown"` // of IDs
	Cut     int64         `json:"cut"`     // of Texts
	Lengths map[int]int64 `json:"lengths"` // texts by number of ids
}

// A textTally counts what a part did.
type textTally struct {
	Input  sideTally `json:"input"`
	Target sideTally `json:"target"`
}

func (d *sideTally) add(x *sideTally) {
	d.Texts += x.Texts
	d.IDs += x.IDs
	d.Unknown += x.Unknown
	d.Cut += x.Cut
	for length, n := range x.Lengths {
		d.Lengths[length] += n
	}
}

func (d *sideTally) longest() int {
	longest := 0
	for length := range d.Lengths {
		longest = max(longest, length)
	}
	return longest
}

// notes are what the manifest says of the ids.
func (d *sideTally) notes() map[string]string {
	lengths, _ := json.Marshal(d.Lengths) // numbers can always be written
	return map[string]string{
		"texts": strconv.FormatInt(d.Texts, 10), "ids": strconv.FormatInt(d.IDs, 10),
		"unknown": share(d.Unknown, d.IDs), "cut": share(d.Cut, d.Texts), "lengths": string(lengths),
	}
}

// attributes are what the log says of the ids.
func (d *sideTally) attributes() []any {
	return []any{
		"texts", d.Texts, "ids", d.IDs, "unknown", share(d.Unknown, d.IDs), "cut", share(d.Cut, d.Texts),
		"median", d.quantile(50), "p99", d.quantile(99), "longest", d.longest(), "lengths", d.histogram(),
	}
}

// quantile returns the shortest length that so many of a hundred texts do not
// exceed.
func (d *sideTally) quantile(percent int64) int {
	seen := int64(0)
	for _, length := range slices.Sorted(maps.Keys(d.Lengths)) {
		if seen += d.Lengths[length]; seen*100 >= d.Texts*percent {
			return length
		}
	}
	return 0
}

// histogram counts the texts of 0, 1, 2, 3 to 4, 5 to 8, ... ids, such as
// "3-4: 12, 5-8: 340".
func (d *sideTally) histogram() string {
	bins := map[int]int64{}
	for length, n := range d.Lengths {
		bin := 0 // its lengths are those up to 1<<(bin-1)
		if length > 0 {
			bin = bits.Len(uint(length-1)) + 1
		}
		bins[bin] += n
	}
	var b strings.Builder
	for _, bin := range slices.Sorted(maps.Keys(bins)) {
		low, high := 0, 0
		if bin > 0 {
			low, high = 1<<(bin-1)/2+1, 1<<(bin-1)
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		if low >= high {
			fmt.Fprintf(&b, "%d: %d", high, bins[bin])
		} else {
			fmt.Fprintf(&b, "%d-%d: %d", low, high, bins[bin])
		}
	}
	return b.String()
}
