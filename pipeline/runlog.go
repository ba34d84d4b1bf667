package pipeline

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"espalier/pipeline/shard"
	"espalier/pipeline/store"
)

// A LogRow is one line of the run log: the end of one node in one run.
type LogRow struct {
	Run        string  `parquet:"run" json:"run"`
	Start      string  `parquet:"start" json:"start"` // of the node, RFC 3339, UTC
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
	Work       float64 `parquet:"work" json:"work"`               // seconds at work, all parts together; Seconds is from begin to end, waiting included
	PeakMemory int64   `parquet:"peak_memory" json:"peak_memory"` // of the process while the node ran, bytes
	Digest     string  `parquet:"digest" json:"digest"`
	Tool       string  `parquet:"tool" json:"tool"`
	Host       string  `parquet:"host" json:"host"`
	PID        int64   `parquet:"pid" json:"pid"`
	Error      string  `parquet:"error" json:"error"`
}

// RunLogSchema is the schema id of the run log's tables.
const RunLogSchema = "runlog/1"

// A recorder writes the run log of one run and its OpenLineage events. Each
// run has files of its own, so that runners do not disturb each other: JSON
// lines as nodes end, and at the end the same as a table. Nothing that goes
// wrong here fails the run.
type recorder struct {
	e    *engine
	run  string
	mem  *memory
	host string
	line *lineage

	mu     sync.Mutex
	peaks  map[*node]*memoryPeak
	start  map[*node]time.Time
	rows   []LogRow
	file   *os.File
	gaveUp bool // the log cannot be written; said once
}

func (e *engine) newRecorder(start time.Time, mem *memory) *recorder {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	r := &recorder{
		e: e, mem: mem, host: host,
		run:   start.UTC().Format("20060102T150405.000Z") + "-" + store.RandomName(),
		peaks: make(map[*node]*memoryPeak), start: make(map[*node]time.Time),
	}
	if e.o.Lineage != "" {
		r.line = &lineage{r: r, path: e.o.Lineage}
	}
	return r
}

// begin is called when a node begins its work.
func (r *recorder) begin(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.start[n]; ok {
		return
	}
	r.start[n] = r.e.now()
	r.peaks[n] = r.mem.begin()
	r.line.start(n)
}

// node is called when the state of a node is final.
func (r *recorder) node(n *node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.e.now()
	start, ok := r.start[n]
	if !ok {
		start = now
	}
	row := LogRow{
		Run: r.run, Start: stamp(start), End: stamp(now), Job: r.e.o.Job, Stage: n.Name, Kind: n.Stage.Kind(),
		Key: string(n.key), State: string(n.state), Part: -1, Parts: int64(n.parts), PartsRun: int64(n.partsRun),
		Seconds: max(0, now.Sub(start).Seconds()), Tool: r.e.o.Tool, Host: r.host, PID: int64(os.Getpid()),
	}
	if r.e.o.Part != nil && n.target {
		row.Part = int64(*r.e.o.Part)
	}
	n.mu.Lock()
	row.Work = n.work.Seconds()
	n.mu.Unlock()
	if p := r.peaks[n]; p != nil {
		row.PeakMemory = r.mem.end(p)
	}
	if m := n.manifest; m != nil {
		row.Rows, row.Dead, row.Bytes, row.Digest = m.Rows, m.Dead, m.Bytes(), m.Digest
	}
	if n.runErr != nil {
		row.Error = strings.ToValidUTF8(n.runErr.Error(), "\uFFFD")
	}
	r.rows = append(r.rows, row)
	r.line.end(n)
	if err := r.append(row); err != nil && !r.gaveUp {
		r.gaveUp = true
		r.e.log.Debug("run log not written", "error", err)
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (r *recorder) path(ext string) string {
	return filepath.Join(r.e.s.RunsDir(), r.run+ext)
}

func (r *recorder) append(row LogRow) error {
	text, err := json.Marshal(row)
	if err != nil {
		return err
	}
	if r.file == nil {
		if err := r.e.s.Prepare(); err != nil {
			return err
		}
		if err := os.MkdirAll(r.e.s.RunsDir(), 0o777); err != nil {
			return err
		}
		if r.file, err = os.OpenFile(r.path(".jsonl"), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err != nil {
			return err
		}
	}
	_, err = r.file.Write(append(text, '\n'))
	return err
}

// close writes the table.
func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil {
		return
	}
	r.file.Close()
	r.file = nil
	err := r.e.s.ReplaceFile(r.path(".parquet"), func(tmp string) error { return writeLog(tmp, r.rows) })
	if err != nil {
		r.e.log.Debug("run log not written as a table", "error", err)
	}
}

func writeLog(path string, rows []LogRow) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := shard.NewWriter[LogRow](f, shard.Options{PageBytes: 1 << 20, Quick: true}) // written at the end of every run
	if err != nil {
		return err
	}
	if err := w.Write(rows); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

// ReadLog returns the rows of the store's run log, oldest run first; job, if
// not empty, selects those of one job file. Lines cut short by a kill are
// left out.
func ReadLog(s *store.Store, job string) ([]LogRow, error) {
	files, err := logFiles(s)
	if err != nil {
		return nil, err
	}
	var rows []LogRow
	for _, path := range files {
		more, err := readLogFile(path)
		if err != nil {
			return nil, err
		}
		for _, row := range more {
			if job == "" || row.Job == job {
				rows = append(rows, row)
			}
		}
	}
	return rows, nil
}

// logFiles returns the paths of the logs, oldest first.
func logFiles(s *store.Store) ([]string, error) {
	entries, err := os.ReadDir(s.RunsDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".jsonl") {
			files = append(files, filepath.Join(s.RunsDir(), e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

func readLogFile(path string) ([]LogRow, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []LogRow
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		var row LogRow
		if len(line) > 0 && json.Unmarshal(line, &row) == nil {
			rows = append(rows, row)
		}
		if err != nil {
			return rows, nil // the end, or a line that a kill cut short
		}
	}
}

// lastKey returns the key of the newest output of a stage of that name and
// kind, by the run log; "" if none is known.
func lastKey(s *store.Store, stage, kind, job string) store.Key {
	files, err := logFiles(s)
	if err != nil {
		return ""
	}
	const most = 50 // runs to look back
	for _, path := range slices.Backward(files[max(0, len(files)-most):]) {
		rows, err := readLogFile(path)
		if err != nil {
			return ""
		}
		for _, r := range slices.Backward(rows) {
			if r.Stage == stage && r.Kind == kind && r.Digest != "" && (job == "" || r.Job == job) {
				return store.Key(r.Key)
			}
		}
	}
	return ""
}
