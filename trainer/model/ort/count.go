package ort

// Count returns the number of parameters of a model, without making one.
func Count(c Config) (int, error) {
	m, err := declare(nil, c, 1)
	if err != nil {
		return 0, err
	}
	return m.params.Count(), nil
}
