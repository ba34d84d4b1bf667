package gqa

import (
	"math"
	"strings"
	"testing"
)

func TestBelongs(t *testing.T) {
	for _, c := range []struct {
		answer, detailed string
		list             []string
		want             bool
	}{
		{"red", "chooseAttr", []string{"red", "blue"}, true},
		{"dog", "chooseAttr", []string{"red", "blue"}, false},
		{"color", "compareCommon", []string{"red"}, true},
		{"red", "compareCommon", []string{"red"}, false},
	} {
		if got := Belongs(c.answer, c.list, c.detailed); got != c.want {
			t.Errorf("%q in %q of %s: %t", c.answer, c.list, c.detailed, got)
		}
	}
}

func TestSteps(t *testing.T) {
	n, err := Steps([]byte(`[{"operation":"select","argument":"dog (1)"},{"operation":"relate","argument":"_,on,s"},{"operation":"query","argument":"name"},{"operation":"exist","argument":"?"},{"operation":"choose name","argument":"cat|dog"},{"operation":"query","argument":"color"}]`))
	if err != nil || n != 3 {
		t.Errorf("%d steps, %v, want 3", n, err)
	}
	if _, err := Steps([]byte(`{"a":1}`)); err == nil {
		t.Error("an object is taken for a list")
	}
}

// An image of 100 x 50: the left half and a spot; attention of a 2 x 2 map,
// whose rows run over x.
func TestGrounding(t *testing.T) {
	s, err := ParseScene([]byte(`{"width":100,"height":50,"objects":{"7":{"x":0,"y":0,"w":50,"h":50,"name":"wall"},"8":{"x":50,"y":0,"w":25,"h":25}}}`))
	if err != nil {
		t.Fatal(err)
	}
	id, cells, err := ParseAttention([]byte(`{"questionId":"q1","attention":[[0.1,0.2],[0.4,0.3]]}`))
	if err != nil || id != "q1" || len(cells) != 4 {
		t.Fatalf("%s %v %v", id, cells, err)
	}
	for name, c := range map[string]struct {
		annotations, semantic string
		want                  float64
	}{
		"a half":           {`{"question":{"0":"7"},"fullAnswer":{}}`, `[]`, .3},
		"both":             {`{"question":{"0":"7"},"fullAnswer":{"1:3":"8"}}`, `[]`, .3 + .4*.5},
		"no object":        {`{"question":{},"fullAnswer":{}}`, `[]`, 0},
		"the whole scene":  {`{}`, `[{"scene":true}]`, 1},
		"an argument only": {`{}`, `[{"operation":"select","argument":"scene"}]`, 0},
	} {
		got, err := s.Grounding(cells, []byte(c.annotations), []byte(c.semantic))
		if err != nil || math.Abs(got-c.want) > 1e-15 {
			t.Errorf("%s: %v, %v, want %v", name, got, err, c.want)
		}
	}
	_, regions, err := ParseAttention([]byte(`{"questionId":1,"attention":[[0,0,0.5,1,0.6],[0.5,0,1,1,0.4]]}`))
	if err != nil || len(regions) != 2 {
		t.Fatal(regions, err)
	}
	if got, err := s.Grounding(regions, []byte(`{"question":{"0":"7"}}`), nil); err != nil || got != .6 {
		t.Errorf("regions: %v, %v, want .6", got, err)
	}
	for bad, want := range map[string]string{
		`{"question":{"0":"9"}}`: "object 9 is not in the scene graph",
		`{"question":["7"]}`:     "want an object of places",
		`{"question":{"0":7}}`:   "want an object of places",
		`[]`:                     "want an object with question",
	} {
		if _, err := s.Grounding(cells, []byte(bad), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", bad, err, want)
		}
	}
	for _, bad := range []string{`{}`, `{"questionId":"a","attention":[]}`, `{"questionId":"a","attention":[[1,2,3],[1,2,3]]}`, `{"questionId":"a","attention":["x"]}`} {
		if _, _, err := ParseAttention([]byte(bad)); err == nil {
			t.Errorf("attention %s is taken", bad)
		}
	}
	for _, bad := range []string{`{}`, `{"width":0,"height":1}`, `[]`} {
		if _, err := ParseScene([]byte(bad)); err == nil {
			t.Errorf("scene %s is taken", bad)
		}
	}
}

// Two groups: of four questions, (1-3)^2/3 + (2-1)^2/1 = 7/3; of one, right, 0.
func TestDistribution(t *testing.T) {
	var d Distribution
	if !math.IsNaN(d.Score()) {
		t.Errorf("no questions: %v", d.Score())
	}
	for _, q := range [][3]string{{"g", "red", "red"}, {"g", "red", "blue"}, {"g", "red", "blue"}, {"g", "blue", "dog"}, {"h", "yes", "yes"}} {
		d.Add(q[0], q[1], q[2])
	}
	if got, want := d.Score(), (7./3*4)/5/100; math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
}
