// Package kdconv reads KdConv, dialogues about films, music and travel: for each
// domain a folder with train.json, dev.json and test.json, lists of dialogues.
//
// Each utterance after the first is a row: the reply to all before it. The key
// is the domain, the number of the dialogue and that of the utterance.
package kdconv

import (
	"fmt"
	"path"
	"slices"

	"espalier/preprocess/corpus"
	"espalier/preprocess/corpus/records"
	"espalier/preprocess/rawjson"
)

// Fields are the source fields.
type Fields struct {
	History []string `parquet:"history,list" json:"history"`
	Reply   string   `parquet:"reply" json:"reply"`
}

// Meta is what the file says of a dialogue.
type Meta struct {
	Name   *string `parquet:"name,optional" json:"name"` // of the entity it starts with
	Domain string  `parquet:"domain,dict" json:"domain"`
}

// Format reads the files. The domain is the name of a file's folder.
var Format = &records.Records[Fields, Meta]{
	Corpus: "kdconv", Task: "kdconv", Layout: records.Array{}, Rows: rows, Decoder: decoder,
}

// rows tells the utterances after the first, none if a dialogue cannot be read.
func rows(el *records.Element, row func([]byte)) {
	if el.Kind() != rawjson.Object {
		return
	}
	var p rawjson.Parser
	first := true
	for range records.Items(&p, el.Member("messages")) {
		if !first {
			row(nil)
		}
		first = false
	}
}

// Domain returns the domain that a file's folder names, "all" if it has none.
func Domain(file string) string {
	if d := path.Base(path.Dir(file)); d != "." && d != "/" {
		return d
	}
	return "all"
}

func decoder(src *corpus.Source) func(*records.Element, *records.Out[Fields, Meta]) {
	var (
		m        Meta
		messages []byte
		text     string
		p        rawjson.Parser
		domain   = Domain(src.Name)
	)
	dialogue := records.NewObject(records.OptionalText("name", &m.Name), records.Value("messages", &messages))
	message := records.NewObject(records.Text("message", &text))
	return func(el *records.Element, out *records.Out[Fields, Meta]) {
		fault := dialogue.Read(el.Bytes)
		if k := records.KindOf(messages); !fault.Bad() && k != rawjson.Array {
			fault = records.Fault{Field: "messages", Reason: rawjson.Mismatch(k, rawjson.Array)}
		}
		if fault.Bad() {
			out.Lost(fault)
			return
		}
		m.Domain = domain
		var said []string
		lost := false // an utterance, and with it the history of all after it
		for item := range records.Items(&p, messages) {
			i := len(said)
			fault := message.Read(item)
			if lost && !fault.Bad() {
				fault = records.Fault{Field: "message", Reason: "follows an utterance that cannot be used"}
			}
			said = append(said, text)
			if fault.Bad() {
				lost = true
				fault.Where, fault.Raw = fmt.Sprintf(".messages[%d]", i), item
				if i == 0 {
					out.Lost(fault)
				} else {
					out.Dead(fault)
				}
				continue
			}
			if i > 0 {
				f := Fields{History: slices.Clone(said[:i]), Reply: text}
				out.Row(fmt.Sprintf("%s_%d_%d", domain, el.Index, i), f, m).References = []string{text}
			}
		}
		if len(said) < 2 && !lost {
			out.Lost(records.Fault{Field: "messages", Reason: "no reply"})
		}
	}
}
