package example

// Standard returns the standard name of a split: "validation" for val, dev and
// valid, the name itself for all others. Rows keep the name that their corpus
// uses.
func Standard(split string) string {
	switch split {
	case "val", "dev", "valid":
		return "validation"
	}
	return split
}

// SameSplit reports whether two names mean the same split.
func SameSplit(a, b string) bool { return Standard(a) == Standard(b) }
