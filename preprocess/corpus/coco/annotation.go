package coco

import "espalier/preprocess/rawjson"

// An official image is what rows need of one.
type officialImage struct {
	key, name []byte
}

// decodeImage reads an element of "images" strictly.
func decodeImage(p *rawjson.Parser, b []byte) (im officialImage, _ fault) {
	badKey, badName := missing("id"), missing("file_name")
	member, err := eachMember(p, b, func(name []byte) {
		switch string(name) {
		case "id":
			badKey = digits(p, "id", &im.key)
		case "file_name":
			if badName = text(p, "file_name", &im.name); badName.ok() && len(im.name) == 0 {
				badName = fault{"file_name", reasonEmpty}
			}
		default:
			p.Skip()
		}
	})
	return im, first(fault{member, err}, badKey, badName)
}

// An officialCaption is what rows need of an annotation.
type officialCaption struct {
	id          int64
	image, text []byte
}

// decodeCaption reads an element of "annotations" strictly.
func decodeCaption(p *rawjson.Parser, b []byte) (c officialCaption, _ fault) {
	badID, badImage, badText := missing("id"), missing("image_id"), missing("caption")
	member, err := eachMember(p, b, func(name []byte) {
		switch string(name) {
		case "id":
			badID = integer(p, "id", &c.id)
		case "image_id":
			badImage = digits(p, "image_id", &c.image)
		case "caption":
			if badText = text(p, "caption", &c.text); badText.ok() && len(c.text) == 0 {
				badText = fault{"caption", reasonEmpty}
			}
		default:
			p.Skip()
		}
	})
	return c, first(fault{member, err}, badID, badImage, badText)
}

// eachMember calls read for each member of an object, whose value read must
// consume. It returns why the element is no object, and the member in which
// that shows.
func eachMember(p *rawjson.Parser, b []byte, read func(name []byte)) (member, reason string) {
	p.Reset(b)
	if !p.Begin(rawjson.Object) {
		if k := p.Kind(); k != rawjson.Invalid {
			return "", rawjson.Mismatch(k, rawjson.Object)
		}
		return "", "not JSON"
	}
	for name, ok := p.Member(); ok; name, ok = p.Member() {
		read(name)
		if p.Err() != nil {
			return string(name), p.Err().Reason
		}
	}
	p.End()
	if err := p.Err(); err != nil {
		return "", err.Reason
	}
	return "", ""
}

// first returns the first fault that is one.
func first(faults ...fault) fault {
	for _, f := range faults {
		if !f.ok() {
			return f
		}
	}
	return fault{}
}

// An idSet is a set of 64-bit ids.
type idSet map[int64]struct{}

func newIDSet() idSet { return idSet{} }

// add reports whether the id is new.
func (s idSet) add(id int64) bool {
	n := len(s)
	s[id] = struct{}{}
	return len(s) > n
}
