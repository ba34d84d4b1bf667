package render

import (
	"errors"
	"regexp"
	"slices"
	"strings"
)

var wnliPronouns = []string{"he", "she", "they", "it", "her", "his", "their", "them", "him"}

// wnliSimple makes a WSC example of a WNLI one, as T5's wnli_simple does: the
// pronoun whose surroundings in the premise are best found in the hypothesis is
// put between asterisks, and what stands between these surroundings in the
// hypothesis is the target.
func wnliSimple(x *Example) ([]Text, error) {
	s, err := x.texts("sentence1", "sentence2")
	if err != nil {
		return nil, err
	}
	premise, hypothesis := bareWords(s[0]), bareWords(s[1])
	best := wnliMatch{score: -1}
	for i, w := range premise {
		if slices.Contains(wnliPronouns, w) {
			m, err := matchAt(premise, hypothesis, i)
			if err != nil {
				return nil, err
			}
			if m.score > best.score {
				best = m
			}
		}
	}
	if best.score < 0 {
		return nil, errors.New("no pronoun in the premise")
	}
	target, err := properCandidate(best.candidate, s[1])
	if err != nil {
		return nil, err
	}
	source, err := starred(s[0], best.index)
	return one("wsc: "+source, target), err
}

// bareWords are the words of a sentence in lower case without a mark at their
// end.
func bareWords(s string) (words []string) {
	for _, w := range strings.Split(strings.ToLower(strings.TrimFunc(s, isSpace)), " ") {
		if n := len(w); n > 0 && strings.IndexByte(".,?!", w[n-1]) >= 0 {
			w = w[:n-1]
		}
		if w != "" {
			words = append(words, w)
		}
	}
	return words
}

type wnliMatch struct {
	score, index int
	candidate    string
}

// matchAt scores a pronoun: how many words before and behind it stand in the
// hypothesis as they stand in the premise.
func matchAt(premise, hypothesis []string, index int) (wnliMatch, error) {
	pre, post := premise[:index], premise[index+1:]
	before, behind := suffixIn(hypothesis, pre), prefixIn(hypothesis, post)
	m := wnliMatch{score: before + behind, index: index}
	if m.score == 0 {
		return m, nil
	}
	if before > 0 { // with none, all words before it are looked for
		pre = pre[len(pre)-before:]
	} else {
		pre = nil
	}
	post = post[:behind]
	text := strings.Join(hypothesis, " ")
	for _, pattern := range []string{
		strings.Join(slices.Concat(pre, []string{"(.+)"}, post), " "),
		strings.Join(slices.Concat([]string{"^(.+)"}, post), " "),
		strings.Join(slices.Concat(pre, []string{"(.+)$"}), " "),
	} {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return m, err
		}
		if found := re.FindStringSubmatch(text); found != nil {
			m.candidate = found[1]
			break
		}
	}
	return m, nil
}

// prefixIn is the number of words that words begins with and that stand together
// in the hypothesis.
func prefixIn(hypothesis, words []string) int {
	text := strings.Join(hypothesis, " ")
	for i := range words {
		if !strings.Contains(text, strings.Join(words[:i+1], " ")) {
			return i
		}
	}
	return len(words)
}

func suffixIn(hypothesis, words []string) int {
	h, w := slices.Clone(hypothesis), slices.Clone(words)
	slices.Reverse(h)
	slices.Reverse(w)
	return prefixIn(h, w)
}

// properCandidate finds a candidate in the hypothesis as it is written there,
// without what stands before its last article, a mark or a genitive at its end.
func properCandidate(candidate, hypothesis string) (string, error) {
	words := strings.Split(candidate, " ")
	from := -1
	for _, article := range []string{"a", "an", "the"} {
		if i := slices.Index(words, article); i > from {
			from = i
		}
	}
	words = words[max(from, 0):]
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w) + `(?:\.|,|\?|!)?`
	}
	re, err := regexp.Compile("(?i)" + strings.Join(words, " "))
	if err != nil {
		return "", err
	}
	found := re.FindString(hypothesis)
	if found == "" && !re.MatchString(hypothesis) {
		return "", errors.New("the candidate is not in the hypothesis")
	}
	if n := len(found); n > 0 && strings.IndexByte(".,!?", found[n-1]) >= 0 {
		found = found[:n-1]
	}
	if s, ok := strings.CutSuffix(found, "'"); ok {
		return s, nil
	}
	return strings.TrimSuffix(found, "'s"), nil
}

// starred puts a word of a sentence between asterisks, a mark at its end behind
// them.
func starred(sentence string, index int) (string, error) {
	words := strings.Split(sentence, " ")
	if index >= len(words) || words[index] == "" {
		return "", errors.New("the pronoun is not where it was")
	}
	w := words[index]
	if n := len(w) - 1; strings.IndexByte(".,!?", w[n]) >= 0 {
		words[index] = "*" + w[:n] + "* " + w[n:]
	} else {
		words[index] = "*" + w + "*"
	}
	return strings.Join(words, " "), nil
}
