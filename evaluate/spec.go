package evaluate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A spec is one metric as a user names it: "cider:tok=none:plain=true".
type spec struct {
	text    string
	name    string
	options map[string]string
	used    map[string]bool
	errs    []string
}

func parseSpec(text string) (*spec, error) {
	name, rest, more := strings.Cut(text, ":")
	s := &spec{text: text, name: name, options: make(map[string]string), used: make(map[string]bool)}
	last := ""
	for more {
		var opt string
		opt, rest, more = strings.Cut(rest, ":")
		key, value, ok := strings.Cut(opt, "=")
		if !ok && last != "" { // a value with a colon, such as the type R:NOUN
			s.options[last] += ":" + opt
			continue
		}
		last = key
		if !ok || key == "" {
			return nil, fmt.Errorf("metric %s: option %q: want NAME=VALUE", text, opt)
		}
		if _, twice := s.options[key]; twice {
			return nil, fmt.Errorf("metric %s: option %s is given twice", text, key)
		}
		s.options[key] = value
	}
	return s, nil
}

// choice returns an option that has a few values; the first is the default.
func (s *spec) choice(key string, values ...string) string {
	s.used[key] = true
	v, ok := s.options[key]
	if !ok {
		return values[0]
	}
	if !slices.Contains(values, v) {
		s.errs = append(s.errs, fmt.Sprintf("%s=%s: want %s", key, v, strings.Join(values, ", ")))
	}
	return v
}

func (s *spec) bool(key string, def bool) bool {
	return s.choice(key, strconv.FormatBool(def), strconv.FormatBool(!def)) == "true"
}

func (s *spec) number(key string, def, low, high float64) float64 {
	s.used[key] = true
	v, ok := s.options[key]
	if !ok {
		return def
	}
	x, err := strconv.ParseFloat(v, 64)
	if err != nil || x < low || x > high {
		s.errs = append(s.errs, fmt.Sprintf("%s=%s: want a number from %g to %g", key, v, low, high))
	}
	return x
}

func (s *spec) integer(key string, def, low, high int) int {
	x := s.number(key, float64(def), float64(low), float64(high))
	if x != float64(int(x)) {
		s.errs = append(s.errs, fmt.Sprintf("%s=%g: want a whole number", key, x))
	}
	return int(x)
}

// check reports options that are unknown or out of range.
func (s *spec) check() error {
	var known []string
	for k := range s.used {
		known = append(known, k)
	}
	slices.Sort(known)
	for k := range s.options {
		if !s.used[k] {
			s.errs = append(s.errs, fmt.Sprintf("no option %s (it has %s)", k, orNone(strings.Join(known, ", "))))
		}
	}
	if len(s.errs) == 0 {
		return nil
	}
	slices.Sort(s.errs)
	return fmt.Errorf("metric %s: %s", s.text, strings.Join(s.errs, "; "))
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
