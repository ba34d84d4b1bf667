package pipeline

import "espalier/pipeline/store"

// A LogRow is one line of the run log: the end of one node in one run.
type LogRow struct {
	Run        string  `parquet:"run" json:"run"`
	Start      string  `parquet:"start" json:"start"` // RFC 3339, UTC
	End        string  `parquet:"end" json:"end"`
	Job        string  `parquet:"job" json:"job"`
	Stage      string  `parquet:"stage" json:"stage"`
	Kind       string  `parquet:"kind" json:"kind"`
	Key        string  `parquet:"key" json:"key"`
	State      string  `parquet:"state" json:"state"`
	Part       int64   `parquet:"part" json:"part"` // -1 unless one part was asked for
	Parts      int64   `parquet:"parts" json:"parts"`
	PartsRun   int64   `parquet:"parts_run" json:"parts_run"`
	Rows       int64   `parquet:"rows" json:"rows"`
	Dead       int64   `parquet:"dead" json:"dead"`
	Bytes      int64   `parquet:"bytes" json:"bytes"`
	Seconds    float64 `parquet:"seconds" json:"seconds"`
	PeakMemory int64   `parquet:"peak_memory" json:"peak_memory"` // of the process while the node ran, bytes
	Digest     string  `parquet:"digest" json:"digest"`
	Tool       string  `parquet:"tool" json:"tool"`
	Host       string  `parquet:"host" json:"host"`
	PID        int64   `parquet:"pid" json:"pid"`
	Error      string  `parquet:"error" json:"error"`
}

// ReadLog returns the rows of the store's run log, oldest run first; job, if
// not empty, selects those of one job file. Lines cut short by a kill are
// left out.
func ReadLog(s *store.Store, job string) ([]LogRow, error) {
	panic("pipeline: unfinished")
}
