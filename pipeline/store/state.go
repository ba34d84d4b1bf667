package store

type writerState struct{}

func (w *writerState) create(name, schema string) (*OutFile, error) { panic("store: unfinished") }
func (w *writerState) side(name string) (*OutFile, error)           { panic("store: unfinished") }
func (w *writerState) replace(part int, name string) (*OutFile, error) {
	panic("store: unfinished")
}
func (w *writerState) drop(part int, name string) error { panic("store: unfinished") }
func (w *writerState) note(key, value string)           { panic("store: unfinished") }

type outState struct{}

func (f *outState) write(p []byte) (int, error) { panic("store: unfinished") }
func (f *outState) close(rows int64) error      { panic("store: unfinished") }
