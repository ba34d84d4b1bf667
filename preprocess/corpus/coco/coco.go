// Package coco reads the caption corpora of the COCO family: Karpathy's
// dataset_coco.json, the official captions_*.json, and the token files of
// Flickr8k and Flickr30k.
//
// Files of any size are read in bounded memory: [PlanKarpathy], [PlanCaptions]
// and [PlanFlickr] find where rows stand, and the Read functions of slices parse
// them. PlanCaptions keeps about 40 bytes for each caption, because the official
// layout lists captions apart from images.
//
// Captions are kept as they stand, line breaks and trailing blanks included. A
// row is an image; its references are its captions in file order (in the order
// of their numbers for Flickr). A caption that cannot be used is a dead letter
// of its own and leaves its image; an image without a caption is one too.
package coco

import (
	"espalier/pipeline"
	"espalier/preprocess/corpus"
	"espalier/preprocess/example"
	"espalier/preprocess/rawjson"
)

// Names of corpus and task as rows carry them.
const (
	Corpus = "coco"
	Task   = "caption"
)

// KarpathyFields are the source fields of Karpathy's layout.
type KarpathyFields struct {
	Tokens []string `parquet:"tokens,list" json:"tokens"` // of each caption, joined by single blanks; "" where it has none
}

// KarpathyMeta is what Karpathy's layout says beside captions.
type KarpathyMeta struct {
	ImgID         *int64  `parquet:"imgid,optional" json:"imgid"`
	SentIDs       []int64 `parquet:"sentids,list" json:"sentids"`
	FilePath      *string `parquet:"filepath,optional" json:"filepath"` // folder of the image
	KarpathySplit string  `parquet:"karpathy_split,dict" json:"karpathy_split"`
}

// MarkedMeta is KarpathyMeta with the marks that were asked for.
type MarkedMeta struct {
	ImgID         *int64   `parquet:"imgid,optional" json:"imgid"`
	SentIDs       []int64  `parquet:"sentids,list" json:"sentids"`
	FilePath      *string  `parquet:"filepath,optional" json:"filepath"`
	KarpathySplit string   `parquet:"karpathy_split,dict" json:"karpathy_split"`
	Marks         []string `parquet:"marks,list" json:"marks"` // those that are true of the image
}

// A KarpathyRow is an image of Karpathy's layout.
type KarpathyRow = example.Row[KarpathyFields, KarpathyMeta]

// A MarkedRow is an image of Karpathy's layout with its marks.
type MarkedRow = example.Row[KarpathyFields, MarkedMeta]

// Unmarked returns the row without marks.
func Unmarked(r *MarkedRow) KarpathyRow {
	m := r.Meta
	return KarpathyRow{
		ID: r.ID, Corpus: r.Corpus, Task: r.Task, Split: r.Split, Key: r.Key, N: r.N, Line: r.Line,
		Fields: r.Fields, Label: r.Label, LabelID: r.LabelID, References: r.References, Image: r.Image,
		Meta: KarpathyMeta{ImgID: m.ImgID, SentIDs: m.SentIDs, FilePath: m.FilePath, KarpathySplit: m.KarpathySplit},
	}
}

// CaptionsMeta is what the official layout says beside captions.
type CaptionsMeta struct {
	AnnotationIDs []int64 `parquet:"annotation_ids,list" json:"annotation_ids"` // of the references, in their order
}

// A CaptionsRow is an image of the official layout.
type CaptionsRow = example.Row[corpus.None, CaptionsMeta]

// A FlickrRow is an image of a Flickr token file.
type FlickrRow = example.Row[corpus.None, corpus.None]

// Options say how a file is read.
type Options struct {
	File string // its name in dead letters and messages
	// Split is the label of the rows. Karpathy's layout names splits itself:
	// there it selects one, and empty means all.
	Split string
	// Marks are names of members of Karpathy's images, true or false, that
	// are kept in the row's meta. The published file has none; that of
	// data/sample has "unseen".
	Marks []string
	// Corpus replaces the corpus name of a Flickr file, "flickr8k" by default.
	Corpus string
}

// letter makes the dead letter of an element of a big array, or of what lies
// inside of it at where.
func letter(file string, el *rawjson.Element, where, field, reason string) *pipeline.DeadLetter {
	n, offset := el.Index, el.Offset
	return &pipeline.DeadLetter{
		Corpus: Corpus, Task: Task, File: file, N: &n, Offset: &offset,
		Where: where, Field: field, Reason: reason, Raw: append([]byte(nil), el.Bytes...),
	}
}

// Reasons of dead letters that several readers give.
const (
	reasonDuplicate = "duplicate key"
	reasonMissing   = "missing field"
	reasonEmpty     = "empty text"
	reasonNoCaption = "no caption"
	reasonInteger   = "number is no integer"
	reasonRange     = "number does not fit 64 bits"
)

// A fault is why a field cannot be used. The zero fault is none.
type fault struct {
	field, reason string
}

func (f fault) ok() bool { return f.reason == "" }

// missing is the fault of fields that were not met yet.
func missing(field string) fault { return fault{field, reasonMissing} }

// text reads a string into v.
func text(p *rawjson.Parser, field string, v *[]byte) fault {
	b, kind := p.Text()
	*v = b
	if kind != rawjson.Text {
		return fault{field, rawjson.Mismatch(kind, rawjson.Text)}
	}
	return fault{}
}

// digits reads an integer of any length as its digits.
func digits(p *rawjson.Parser, field string, v *[]byte) fault {
	b, kind := p.Number()
	*v = b
	switch {
	case kind != rawjson.Number:
		return fault{field, rawjson.Mismatch(kind, rawjson.Number)}
	case !rawjson.IsInteger(b):
		return fault{field, reasonInteger}
	}
	return fault{}
}

// integer reads an integer of 64 bits.
func integer(p *rawjson.Parser, field string, v *int64) fault {
	var b []byte
	if f := digits(p, field, &b); !f.ok() {
		return f
	}
	n, ok := rawjson.Integer(b)
	if !ok && p.Err() == nil {
		return fault{field, reasonRange}
	}
	*v = n
	return fault{}
}
