package vqa

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"testing"

	"espalier/preprocess/corpus"
)

// TestPlanSpills plans a join within memory and with files: the slices are the
// same, to the byte, for any order, twins and lost annotations among them.
func TestPlanSpills(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for round := range 40 {
		var questions, notes []string
		n := 50 + r.IntN(400)
		for i := range n {
			switch id := r.IntN(2*n) - 20; r.IntN(12) {
			case 0:
				questions = append(questions, fmt.Sprintf(`{"image_id": 1, "question": "", "question_id": %d}`, id)) // cannot be kept
			case 1:
				questions = append(questions, "7")
			default:
				questions = append(questions, ask(3*i), ask(id)) // ids are there twice now and then
			}
			switch id := r.IntN(2*n) - 20; r.IntN(9) {
			case 0:
				notes = append(notes, note(id, "x"))
			case 1:
				notes = append(notes, `{"question_id": "x"}`, "5")
			default:
				notes = append(notes, note(3*i, fmt.Sprint("a", i)))
			}
		}
		if round%2 == 0 {
			r.Shuffle(len(notes), func(i, k int) { notes[i], notes[k] = notes[k], notes[i] })
			r.Shuffle(len(questions), func(i, k int) { questions[i], questions[k] = questions[k], questions[i] })
		}
		plan := func(memory int64) []corpus.Slice {
			q, a := documents(questions, notes)
			q.Joined, q.Memory, q.Scratch = []*corpus.Source{a}, memory, t.TempDir()
			list, err := Annotated("vqav2", "answer").Plan(t.Context(), q, 20)
			if err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(q.Scratch); err != nil || len(left) > 0 {
				t.Errorf("%d files are left, %v", len(left), err)
			}
			return list
		}
		want := plan(0)
		for _, memory := range []int64{1, 2000, 20_000} {
			got := plan(memory)
			if !reflect.DeepEqual(got, want) {
				for i := range min(len(got), len(want)) {
					if !reflect.DeepEqual(got[i], want[i]) {
						t.Errorf("round %d: slice %d with %d bytes:\n%s %s\nwant\n%s %s", round, i, memory, got[i].ID, got[i].Of, want[i].ID, want[i].Of)
						break
					}
				}
				t.Fatalf("round %d: %d slices, want %d", round, len(got), len(want))
			}
		}
	}
}
