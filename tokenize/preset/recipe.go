package preset

import (
	"espalier/tokenize/model"
	"espalier/tokenize/recipe"
)

// Recipe is the class of a tokenizer.json: what the tokenizers library makes of
// it.
func Recipe(t *recipe.Tokenizer) (*Class, error) {
	c, err := newClass(t, recipeRules{t}, t.Added(), false)
	if err != nil {
		return nil, err
	}
	c.Frame = t.Frame()
	if t.Twice() { // what is special is so by name
		for id := range int32(t.Size()) {
			if k, ok := t.ID(t.Piece(id)); ok && k != id && c.byID[k] != nil {
				c.byID[id] = c.byID[k]
			}
		}
	}
	return c, nil
}

type recipeRules struct{ t *recipe.Tokenizer }

func (r recipeRules) encoder() partEncoder { return recipeText{r.t.NewEncoder()} }

func (r recipeRules) join(_ *Class, dst []byte, ids []int32) ([]byte, error) {
	return r.t.Decode(dst, ids)
}

func (r recipeRules) decoder(*Class) model.Decoder { return r.t.NewDecoder() }

// A recipeText cuts texts itself.
type recipeText struct{ e model.Encoder }

func (e recipeText) part(ids []int32, text string, i, j int, _ bool) []int32 {
	return e.e.Append(ids, text[i:j])
}

func (e recipeText) tokens(tokens []model.Token, text string, i, j int, _ bool) []model.Token {
	return shift(e.e.AppendTokens(tokens, text[i:j]), len(tokens), i)
}

func (e recipeText) whole(_ *Class, ids []int32, text string) []int32 { return e.e.Append(ids, text) }

func (e recipeText) wholeTokens(_ *Class, tokens []model.Token, text string) []model.Token {
	return e.e.AppendTokens(tokens, text)
}

// Unknown returns the id of unknown text of a tokenizer.json, -1 if there is none.
func (c *Class) Unknown() int32 {
	if r, ok := c.rules.(recipeRules); ok {
		return r.t.Unknown()
	}
	return -1
}
