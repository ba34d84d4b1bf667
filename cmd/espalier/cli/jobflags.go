package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"espalier/jobs"
	"espalier/pipeline"
	"espalier/pipeline/store"
	"espalier/trainer/kernel/cpuinfo"
)

// jobFlags are the flags of all verbs that read a job file.
type jobFlags struct {
	store string
	set   []string
}

func (j *jobFlags) add(f *pflag.FlagSet) {
	f.StringVar(&j.store, "store", "", "`DIR` of the store (else store: of the job, $ESPALIER_STORE, or beside it)")
	f.StringArrayVar(&j.set, "set", nil, "override a field, as in train.steps=30; may be repeated: `PATH=VALUE`")
}

// load reads the job file; what is wrong with it is a fault of usage.
func (j *jobFlags) load(c *console, file string) (*jobs.Job, error) {
	job, err := jobs.Load(file, j.set, c.kinds)
	if err != nil {
		if _, faults := err.(jobs.Faults); !faults {
			err = usagef("%v", err)
		}
		return nil, err
	}
	return job, nil
}

// open loads the job and opens its store.
func (j *jobFlags) open(c *console, file string) (*jobs.Job, pipeline.Options, error) {
	job, err := j.load(c, file)
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	s, err := store.Open(j.dir(job))
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		return nil, pipeline.Options{}, err
	}
	return job, pipeline.Options{Store: s, Job: abs, Set: j.set, Tool: toolVersion(), Numerics: cpuinfo.Numerics()}, nil
}

// dir is the folder of a job's store.
func (j *jobFlags) dir(job *jobs.Job) string {
	switch env := os.Getenv("ESPALIER_STORE"); {
	case j.store != "":
		return j.store
	case job.Store != "":
		return job.Store
	case env != "":
		return env
	}
	return filepath.Join(filepath.Dir(job.File), "espalier-store")
}
