package meteor

import (
	"os"
	"testing"
)

// Indexes of tables that tests read stay out of the user's cache.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "meteor-*")
	if err != nil {
		panic(err)
	}
	os.Setenv("ESPALIER_CACHE", dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}
