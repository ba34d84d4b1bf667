package store

import (
	"slices"
	"testing"
)

func TestGroups(t *testing.T) {
	s := newStore(t)
	putPart(t, s, "aa", map[string]string{"f": "text"}, nil)
	if keys, err := s.Group("none"); err != nil || len(keys) != 0 {
		t.Errorf("a group that nobody made: %v, %v", keys, err)
	}
	for _, k := range []Key{"bb", "aa", "bb"} {
		if err := s.Remember("images", k); err != nil {
			t.Fatal(err)
		}
	}
	keys, err := s.Group("images")
	if err != nil || !slices.Equal(keys, []Key{"aa", "bb"}) {
		t.Errorf("group of %v, %v", keys, err)
	}
	// What is said of parts that are gone is swept with them.
	if _, err := s.GC(t.Context(), GCOptions{}); err != nil {
		t.Fatal(err)
	}
	if keys, err := s.Group("images"); err != nil || len(keys) != 0 {
		t.Errorf("group of %v after a sweep, %v", keys, err)
	}
}
