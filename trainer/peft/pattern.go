package peft

import "strings"

// Match reports whether a path, such as
// "encoder.block.3.layer.0.SelfAttention.q", has a pattern: * stands for any
// run of characters without a dot, ** for one of any characters, and {q,v} for
// either of its parts.
func Match(pattern, path string) bool {
	for i := range len(pattern) {
		switch pattern[i] {
		case '{':
			end := strings.IndexByte(pattern[i:], '}')
			if end < 0 {
				return false
			}
			for part := range strings.SplitSeq(pattern[i+1:i+end], ",") {
				if Match(part+pattern[i+end+1:], path) {
					return true
				}
			}
			return false
		case '*':
			rest, dots := pattern[i+1:], strings.HasPrefix(pattern[i+1:], "*")
			if dots {
				rest = rest[1:]
			}
			for n := 0; ; n++ {
				if Match(rest, path[n:]) {
					return true
				}
				if n == len(path) || path[n] == '.' && !dots {
					return false
				}
			}
		default:
			if path == "" || path[0] != pattern[i] {
				return false
			}
			path = path[1:]
		}
	}
	return path == ""
}

// matchAny reports whether a path has one of the patterns.
func matchAny(patterns []string, path string) bool {
	for _, p := range patterns {
		if Match(p, path) {
			return true
		}
	}
	return false
}
