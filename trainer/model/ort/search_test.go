package ort

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"espalier/internal/shared"
	"espalier/trainer/decode"
	"espalier/trainer/grad"
)

// A found is a line of a search file.
type found struct {
	Decoder   string
	Beam      int           `json:"beam_size"`
	Penalty   string        `json:"length_penalty"`
	Sequences [][][]int32   `json:"sequences"`
	LogProbs  [][][]float32 `json:"log_probs"`
	Scores    [][]float64
	Lengths   [][]int
}

func TestReferenceSearch(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		f, err := os.Open(filepath.Join(r.dir, r.name+".search.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		lines := 0
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for ; sc.Scan(); lines++ {
			var want found
			if err := json.Unmarshal(sc.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			if want.Decoder != "strict" && want.Decoder != "strict_f64" && want.Decoder != "legacy_shared_cache" {
				t.Fatalf("unknown decoder %q", want.Decoder)
			}
			for _, incremental := range []bool{true, false} {
				legacy := want.Decoder == "legacy_shared_cache"
				if legacy && !incremental {
					continue
				}
				r.compareSearch(&want, incremental, legacy)
			}
		}
		if lines < 4 {
			t.Errorf("%d searches", lines)
		}
	})
}

func (r *reference) compareSearch(want *found, incremental, legacy bool) {
	t := r.t
	t.Helper()
	c := r.json.Config
	search := decode.Search{Beam: want.Beam, MaxLen: c.MaxLen, BOS: c.BOS, EOS: c.EOS}
	if name, alpha, ok := strings.Cut(want.Penalty, "_"); ok {
		search.Penalty = decode.Penalty(name)
		fmt.Sscan(alpha, &search.Alpha)
	}
	if err := search.Check(); err != nil {
		t.Fatal(err)
	}
	var st decode.Stepper = newWhole(r.model, &r.images)
	if incremental {
		s, err := r.model.Stepper(&r.images, want.Beam, legacy)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		st = s
	}
	got, err := search.Run(t.Context(), st, r.images.N)
	if err != nil {
		t.Fatal(err)
	}
	what := fmt.Sprintf("%s beam %d penalty %q incremental %v", want.Decoder, want.Beam, want.Penalty, incremental)
	for i := range want.Sequences {
		for j, seq := range want.Sequences[i] {
			h := got[i][j]
			n := len(h.Tokens)
			if want.Lengths != nil {
				if n != want.Lengths[i][j] {
					t.Errorf("%s: image %d, %d: length %d, want %d", what, i, j, n, want.Lengths[i][j])
				}
			}
			if padded := append(slices.Clone(h.Tokens), make([]int32, len(seq)-n)...); !slices.Equal(padded, seq) {
				t.Errorf("%s: image %d, %d: %v, want %v", what, i, j, padded, seq)
				continue
			}
			near(t, what, h.LogProbs, want.LogProbs[i][j][:n], 2e-4)
			if want.Scores != nil && math.Abs(h.Score-want.Scores[i][j]) > 2e-4 {
				t.Errorf("%s: image %d, %d: score %g, want %g", what, i, j, h.Score, want.Scores[i][j])
			}
		}
	}
}

// The public code's incremental pass with its shared caches.
func TestReferenceLegacyCache(t *testing.T) {
	eachReference(t, func(t *testing.T, r *reference) {
		if !r.has("log_probs_legacy_incremental") {
			t.Skip("not in this part of the data")
		}
		rows := len(r.seqs)
		s, err := r.model.Stepper(&r.images, r.perImg, true)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		width := r.json.Config.MaxLen - 1
		vocab := r.json.Config.Vocab
		want := r.floats("log_probs_legacy_incremental")
		for i := range width {
			source, token := make([]int32, rows), make([]int32, rows)
			for j := range rows {
				source[j], token[j] = int32(j), r.seqs[j][i]
				if i == 0 {
					source[j] = int32(j / r.perImg)
				}
			}
			got, err := s.Step(source, token)
			if err != nil {
				t.Fatal(err)
			}
			for j := range rows {
				near(t, fmt.Sprintf("row %d, token %d", j, i), got[j*vocab:][:vocab], want[(j*width+i)*vocab:][:vocab], 2e-4)
			}
		}
	})
}

// The original ORT: one id for BOS, EOS and PAD, and its own search rule.
func TestOriginalORT(t *testing.T) {
	r := &reference{t: t, dir: shared.Dir(t, "goldens", "papers", "acort"), name: "ort_original"}
	text, err := os.ReadFile(filepath.Join(r.dir, r.name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var j struct {
		Config struct{ D, FFN, Layers, Heads, Vocab, Unk int }
		Words  int     `json:"max_words"`
		LossXE float64 `json:"loss_xe"`
		Search []struct {
			Beam       int         `json:"beam_size"`
			Best       [][]int32   `json:"best"`
			LogProbs   [][]float32 `json:"best_log_probs"`
			Hypotheses [][]struct {
				IDs   []int32
				Score float64
			}
		}
	}
	if err := json.Unmarshal(text, &j); err != nil {
		t.Fatal(err)
	}
	none := 0.0
	c := j.Config
	r.io = r.file("io")
	r.load(Config{Width: c.D, Hidden: c.FFN, Layers: c.Layers, Heads: c.Heads, Vocab: c.Vocab, Features: 20, MaxLen: 9, DropSource: &none, Drop: &none})
	masks := r.floats("att_masks")
	counts := make([]int, 2)
	for i, v := range masks {
		counts[i/5] += int(v)
	}
	r.images = r.readImages(counts)

	labels, capMask := toInt32(r.ints("labels")), r.floats("masks")
	b := &Batch{Images: r.images}
	var ids []int32
	for i := range 4 {
		n := 0
		for ; n < 10 && capMask[i*10+n] != 0; n++ {
		}
		b.Captions = append(b.Captions, labels[i*10:][:n])
		ids = append(ids, labels[i*10:][:9]...)
	}
	tp := r.tape
	tp.Begin(grad.Step{})
	mem, err := r.model.Encode(tp, &r.images)
	if err != nil {
		t.Fatal(err)
	}
	logits := r.model.output.Apply(tp, r.model.decode(tp, mem, ids, 4, 9, true), grad.Out{})
	r.dev.LogSoftmax(tp.Value(logits), tp.Value(logits))
	near(t, "log_probs", r.read(logits), r.floats("log_probs"), 2e-4)

	r.model.Params().Train()
	if got, _ := r.loss(grad.Step{Grad: true}, b, 0); math.Abs(got-j.LossXE) > 1e-5 {
		t.Errorf("loss %g, want %g", got, j.LossXE)
	}
	r.compareGradients(r.io, "grad/")

	for _, want := range j.Search {
		search := decode.Search{Beam: want.Beam, MaxLen: 8, Original: true, Suppress: []int32{int32(c.Unk)}}
		if err := search.Check(); err != nil {
			t.Fatal(err)
		}
		s, err := r.model.Stepper(&r.images, want.Beam, false)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := search.Run(t.Context(), s, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			for k, h := range want.Hypotheses[i] {
				ids := append(slices.Clone(got[i][k].Tokens), make([]int32, 8)...)[:8]
				if !slices.Equal(ids, h.IDs) {
					t.Errorf("beam %d image %d, %d: %v, want %v", want.Beam, i, k, ids, h.IDs)
				}
				if math.Abs(got[i][k].Score-h.Score) > 2e-4 {
					t.Errorf("beam %d image %d, %d: score %g, want %g", want.Beam, i, k, got[i][k].Score, h.Score)
				}
			}
			near(t, "log_probs of the best", got[i][0].LogProbs, want.LogProbs[i][:len(got[i][0].LogProbs)], 2e-4)
		}
	}
}
