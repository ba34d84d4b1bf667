package spm

import (
	"strings"
	"testing"

	"espalier/tokenize/tokentest"
)

func TestBadModels(t *testing.T) {
	good := tokentest.Small()
	if _, err := Parse(good.Bytes()); err != nil {
		t.Fatal(err)
	}
	edit := func(f func(s *tokentest.SPM)) []byte {
		s := tokentest.Small()
		f(&s)
		return s.Bytes()
	}
	file := good.Bytes()
	for _, x := range []struct {
		name string
		file []byte
		want string
	}{
		{"nothing", nil, "no pieces"},
		{"text", []byte("not a model, just text"), "wire type"},
		{"truncated", file[:len(file)-3], "truncated"},
		{"duplicate", edit(func(s *tokentest.SPM) { s.Pieces[6].Text = "a" }), `piece 6: "a" is piece 4 already`},
		{"empty", edit(func(s *tokentest.SPM) { s.Pieces[6].Text = "" }), "piece 6: empty"},
		{"long", edit(func(s *tokentest.SPM) { s.Pieces[6].Text = strings.Repeat("a", MaxPiece+1) }), "piece 6: 4097 bytes"},
		{"no unknown", edit(func(s *tokentest.SPM) { s.Pieces[2].Kind = 3 }), "no unknown piece"},
		{"two unknown", edit(func(s *tokentest.SPM) { s.Pieces[1].Kind = 2 }), "unknown, as is piece 1"},
		{"byte", edit(func(s *tokentest.SPM) { s.Pieces[6].Kind = 6 }), "no byte of a model"},
		{"type", edit(func(s *tokentest.SPM) { s.Type = 5 }), "model type 5"},
		{"kind", edit(func(s *tokentest.SPM) { s.Pieces[6].Kind = 9 }), "piece 6: type 9"},
		{"bytes missing", edit(func(s *tokentest.SPM) { s.ByteFallback = true }), "0 byte pieces"},
	} {
		if _, err := Parse(x.file); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
	}
}

// FuzzParse reads any bytes as a model and, if they are one, uses it.
func FuzzParse(f *testing.F) {
	f.Add(tokentest.Small().Bytes())
	f.Add(tokentest.SmallBPE().Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		m, err := Parse(file)
		if err != nil {
			return
		}
		m.Norm.ByWord()
		for _, text := range []string{"", " a\tb e\u0301\uff21\u200b ", "\xff\x00[X]"} {
			dst, from := m.Norm.AppendMapped(nil, nil, text)
			if plain := m.Norm.Append(nil, text); string(plain) != string(dst) || len(from) != len(dst)+1 {
				t.Fatalf("%q: %q, %q, %v", text, plain, dst, from)
			}
			m.Norm.AppendByCluster(nil, nil, text, func(r rune) bool { return r == 0x301 })
		}
		ids := make([]int32, len(m.Pieces))
		for i := range ids {
			ids[i] = int32(i)
		}
		if _, err := m.Decode(nil, ids); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzPiece reads pieces the quick way, if it takes them, and the other one.
func FuzzPiece(f *testing.F) {
	for _, s := range []string{"\n\x01a\x15\x00\x00\x80\xbf", "\n\x02ab\x15\x00\x00\x00\x00\x18\x03", "\n\x01a\x15\x00\x00\x80\x7f", "\n\x00\x15\x00\x00\x00\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, b string) {
		got, ok := usualPiece(b)
		if !ok {
			return
		}
		if want, err := anyPiece(b, 0); err != nil || got != want {
			t.Errorf("%q: %v, want %v, %v", b, got, want, err)
		}
	})
}
