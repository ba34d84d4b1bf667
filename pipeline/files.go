package pipeline

import "context"

// Files is the built-in stage "pipeline/files": raw files enter a graph
// through it and through nothing else. Its key is the files' content: their
// names relative to the root and their digests. The path itself is not part of
// it, nor are times, so moving or touching a tree re-runs nothing.
//
// A downstream stage reads them with Input.Open by relative name; the names
// stand in the input's manifest, sorted.
type Files struct {
	// Path is a file, or a folder that is read with all folders below it.
	// Relative paths are relative to the working directory; job files
	// make them absolute.
	Path string `yaml:"path" json:"-"`
	// Include has patterns of names below Path, separated by slashes: "*"
	// and "?" stay within a name, "**" crosses folders, and a pattern
	// without a slash is compared with the last name only. Empty means
	// all files. Names that begin with a dot need a pattern that does.
	Include []string `yaml:"include" json:"-"`
	// Exclude has patterns of names to leave out.
	Exclude []string `yaml:"exclude" json:"-"`
}

// FilesKind is the kind of the Files stage.
const FilesKind = "pipeline/files"

// Kind is FilesKind.
func (*Files) Kind() string { return FilesKind }

// Version is raised when equal files would get another key.
func (*Files) Version() int { return 1 }

// Run does nothing: the engine reads the files while it computes keys.
func (*Files) Run(ctx context.Context, t *Task, p Part) error { return nil }
