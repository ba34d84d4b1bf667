package schedule

import (
	"bytes"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// awkward is a job in which every text needs some escaping somewhere.
func awkward() *Job {
	return &Job{
		Name:    "coco 100%",
		Command: []string{"/opt/my tools/espalier"},
		File:    "/data/it's here/job.yaml",
		Store:   "/data/store $(HOME)",
		Set:     []string{`train.name="a\b {{ x }}"`, "train.rate=50%"},
		Stages: []Stage{
			{Name: "train[model=a/b,seed=1]", Needs: []string{"encode", "grids"}},
			{Name: "encode", Needs: []string{"ingest"}, Parts: true},
			{Name: "ingest", Parts: true},
			{Name: "grids", Needs: []string{"ingest"}, Parts: true},
			{Name: "train[model=a:b,seed=1]", Needs: []string{"encode", "grids"}},
		},
		Width: 4,
	}
}

func plainJob() *Job {
	return &Job{
		Name: "smoke", Command: []string{"espalier"}, File: "jobs/smoke.yaml", Store: "out/smoke",
		Stages: []Stage{{Name: "sample"}, {Name: "train", Needs: []string{"sample"}}}, Width: 1,
	}
}

func golden(t *testing.T, name string, write func(io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(b.Bytes(), want) {
		t.Errorf("%s differs from what is written:\n%s", path, b.Bytes())
	}
	return b.Bytes()
}

func TestCron(t *testing.T) {
	got := golden(t, "awkward.cron", func(w io.Writer) error { return Cron(w, awkward(), "17 3 * * mon-fri") })
	if bytes.Contains(bytes.ReplaceAll(got[bytes.IndexByte(got, '\n'):], []byte(`\%`), nil), []byte("%")) {
		t.Error("a % without a backslash ends the command")
	}
	golden(t, "plain.cron", func(w io.Writer) error { return Cron(w, plainJob(), "@daily") })
	for _, bad := range []string{"", "1 2 3 4", "1 2 3 4 5 6", "* * * * ;", "@never", "a\nb * * * *"} {
		if err := Cron(io.Discard, plainJob(), bad); err == nil {
			t.Errorf("time %q is accepted", bad)
		}
	}
}

func TestAirflow(t *testing.T) {
	golden(t, "awkward.airflow.py", func(w io.Writer) error { return Airflow(w, awkward(), "0 4 * * *") })
	golden(t, "plain.airflow.py", func(w io.Writer) error { return Airflow(w, plainJob(), "") })
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to parse the files with")
	}
	for _, name := range []string{"awkward.airflow.py", "plain.airflow.py"} {
		check := "import ast, sys; ast.parse(open(sys.argv[1]).read())"
		if out, err := exec.Command(python, "-c", check, filepath.Join("testdata", name)).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

// TestSlurm runs the script with an sbatch that only notes how it is called.
func TestSlurm(t *testing.T) {
	golden(t, "awkward.slurm.sh", func(w io.Writer) error { return Slurm(w, awkward(), []string{"--mem=8G", "--comment=a b"}, "2") })
	golden(t, "plain.slurm.sh", func(w io.Writer) error { return Slurm(w, plainJob(), nil, "") })
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to run the scripts with")
	}
	dir := t.TempDir()
	fake := "#!/bin/sh\nn=$(cat \"$D/n\" 2>/dev/null || echo 100); n=$((n+1)); echo $n >\"$D/n\"\nfor a in \"$@\"; do printf '<%s>' \"$a\"; done >>\"$D/calls\"; echo >>\"$D/calls\"; echo $n\n"
	if err := os.WriteFile(filepath.Join(dir, "sbatch"), []byte(fake), 0o777); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "testdata/awkward.slurm.sh")
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "D="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(calls)), "\n")
	if len(lines) != 8 {
		t.Fatalf("%d calls of sbatch, want 8:\n%s", len(lines), calls)
	}
	self, err := filepath.EvalSymlinks("testdata/awkward.slurm.sh")
	if err != nil {
		t.Fatal(err)
	}
	if self, err = filepath.Abs(self); err != nil {
		t.Fatal(err)
	}
	common := "<--parsable><--requeue><--kill-on-invalid-dep=yes>"
	run := "<" + self + "><task></opt/my tools/espalier><run></data/it's here/job.yaml><--store></data/store $(HOME)><--set><train.name=\"a\\b {{ x }}\"><--set><train.rate=50%>"
	for i, want := range map[int]string{
		0: common + "<--job-name=coco 100%:ingest><--mem=8G><--comment=a b><--array=0-3%2>" + run + "<--stage><ingest><--progress><plain><--of><4>",
		1: common + "<--job-name=coco 100%:ingest><--mem=8G><--comment=a b><--dependency=afterany:101>" + run + "<--stage><ingest><--progress><plain>",
		6: common + "<--job-name=coco 100%:train[model=a/b,seed=1]><--mem=8G><--comment=a b><--dependency=afterok:104:106>" + run + "<--stage><train[model=a/b,seed=1]><--progress><plain>",
	} {
		if lines[i] != want {
			t.Errorf("call %d is\n%s, want\n%s", i, lines[i], want)
		}
	}

	// As a task the script runs the command it is given and hands on its code.
	cmd = exec.Command(bash, "testdata/awkward.slurm.sh", "task", "sh", "-c", "exit 20")
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 20 {
		t.Errorf("a task that ends with 20 ends with %v", err)
	}
}

func TestKubernetes(t *testing.T) {
	pod := Pod{Namespace: "ml", Image: "registry/espalier:1", Claim: "data", Mount: "/data", CPU: "2", Memory: "4Gi"}
	got := golden(t, "awkward.k8s.yaml", func(w io.Writer) error { return Kubernetes(w, awkward(), pod) })
	golden(t, "plain.k8s.yaml", func(w io.Writer) error { return Kubernetes(w, plainJob(), Pod{Image: "espalier"}) })

	type manifest struct {
		Kind     string
		Metadata struct{ Name string }
		Spec     struct {
			Suspend        bool
			CompletionMode string `yaml:"completionMode"`
			Completions    int
			Template       struct {
				Spec struct{ Containers []struct{ Command []string } }
			}
		}
	}
	var all []manifest
	dec := yaml.NewDecoder(bytes.NewReader(got))
	for {
		var m manifest
		err := dec.Decode(&m)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if len(all) != 8 {
		t.Fatalf("%d manifests, want 8", len(all))
	}
	names := make(map[string]bool)
	for i, m := range all {
		if names[m.Metadata.Name] || len(m.Metadata.Name) > 63 {
			t.Errorf("name %q is taken or too long", m.Metadata.Name)
		}
		names[m.Metadata.Name] = true
		if m.Spec.Suspend != (i > 0) {
			t.Errorf("job %d: suspend is %v", i, m.Spec.Suspend)
		}
	}
	command := all[0].Spec.Template.Spec.Containers[0].Command
	if got, want := command[4], "/data/store $$(HOME)"; got != want {
		t.Errorf("store is %q, want %q", got, want)
	}
	if got, want := strings.Join(command[len(command)-2:], " "), "--of 4"; got != want || all[0].Spec.Completions != 4 || all[0].Spec.CompletionMode != "Indexed" {
		t.Errorf("parts end with %q, completions %d", got, all[0].Spec.Completions)
	}
	for _, bad := range []Pod{{}, {Image: "x", Claim: "data"}, {Image: "x", Claim: "a b", Mount: "/d"}, {Image: "x", Namespace: "A"}} {
		if err := Kubernetes(io.Discard, plainJob(), bad); err == nil {
			t.Errorf("pod %+v is accepted", bad)
		}
	}
}

func TestBadJobs(t *testing.T) {
	for name, spoil := range map[string]func(*Job){
		"line feed":    func(j *Job) { j.Store = "a\nb" },
		"no width":     func(j *Job) { j.Width = 0 },
		"circle":       func(j *Job) { j.Stages[0].Needs = []string{"train"} },
		"missing need": func(j *Job) { j.Stages[0].Needs = []string{"other"} },
	} {
		j := plainJob()
		spoil(j)
		if err := Slurm(io.Discard, j, nil, ""); err == nil {
			t.Errorf("%s: Slurm accepts it", name)
		}
		if err := Airflow(io.Discard, j, ""); err == nil {
			t.Errorf("%s: Airflow accepts it", name)
		}
	}
	if err := Slurm(io.Discard, plainJob(), nil, "0"); err == nil {
		t.Error("no task at once is accepted")
	}
}
