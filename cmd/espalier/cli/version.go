package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/pflag"

	"espalier/trainer/kernel/cpuinfo"
)

// version is the module's version until a release names its own.
const version = "0.1.0"

var versionVerb = verb{
	name:    "version",
	short:   "print the version, the Go release and the numerics class",
	long:    []string{"Outputs of stages that compute on a device are shared by machines of one numerics class."},
	example: []string{"espalier version --json"},
	setup: func(f *pflag.FlagSet) action {
		asJSON := f.Bool("json", false, "print one JSON object")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			v := readVersion()
			if *asJSON {
				return c.json(v)
			}
			fmt.Fprintf(c.out, "espalier %s\ngo       %s\nplatform %s\nnumerics %s\n", v.Version, v.Go, v.Platform, v.Numerics)
			if v.Revision != "" {
				fmt.Fprintf(c.out, "revision %s\n", v.Revision)
			}
			return nil
		}
	},
}

type versionRecord struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Numerics string `json:"numerics"`
	Revision string `json:"revision,omitempty"`
}

func readVersion() versionRecord {
	v := versionRecord{
		Version:  version,
		Go:       strings.TrimPrefix(runtime.Version(), "go"),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Numerics: cpuinfo.Numerics(),
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = strings.TrimPrefix(m, "v")
	}
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			v.Revision += " with changes"
		}
	}
	return v
}

// toolVersion is what the run log says of the program.
func toolVersion() string {
	v := readVersion()
	if v.Revision == "" {
		return "espalier " + v.Version
	}
	return "espalier " + v.Version + " " + v.Revision
}
