package cli

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"espalier/pipeline/store"
	"espalier/trainer/kernel/cpuinfo"
)

var doctorVerb = verb{
	name:    "doctor",
	short:   "say what this machine offers: processor, memory, disk, GPU",
	long:    []string{"Warns of what would make a job slow or fail here. Exit 0 with or without warnings."},
	example: []string{"espalier doctor --store out/smoke"},
	setup: func(f *pflag.FlagSet) action {
		dir := f.String("store", "", "look at the disk of the store in `DIR` (else $ESPALIER_STORE, else this folder)")
		asJSON := f.Bool("json", false, "print one JSON object")
		return func(_ context.Context, c *console, args []string) error {
			if err := want(args, 0, 0, "none"); err != nil {
				return err
			}
			d := examine(firstOf(*dir, os.Getenv("ESPALIER_STORE"), "."))
			if *asJSON {
				return c.json(d)
			}
			return d.print(c)
		}
	},
}

// A diagnosis is what doctor finds.
type diagnosis struct {
	Version     string   `json:"version"`
	Go          string   `json:"go"`
	Platform    string   `json:"platform"`
	Numerics    string   `json:"numerics"`
	CPU         string   `json:"cpu"`
	Features    []string `json:"features"`
	Cores       int      `json:"cores"`
	MemoryBytes int64    `json:"memory_bytes"`
	FreeBytes   int64    `json:"memory_available_bytes"`
	Store       string   `json:"store"`
	DiskBytes   int64    `json:"disk_bytes"`
	DiskFree    int64    `json:"disk_free_bytes"`
	Cache       string   `json:"cache"`
	GPU         string   `json:"gpu"` // the driver's library, "" if there is none
	Warnings    []string `json:"warnings"`
}

func examine(dir string) *diagnosis {
	v := readVersion()
	d := &diagnosis{
		Version: v.Version, Go: v.Go, Platform: v.Platform, Numerics: v.Numerics,
		Cores: runtime.GOMAXPROCS(0), Store: dir, Cache: store.CacheDir(), Features: []string{}, Warnings: []string{},
	}
	d.CPU = procField("/proc/cpuinfo", "model name")
	for _, f := range []struct {
		name string
		has  bool
	}{{"AVX2", cpuinfo.AVX2}, {"AVX-512", cpuinfo.AVX512}, {"AVX-512 BF16", cpuinfo.BF16}} {
		if f.has {
			d.Features = append(d.Features, f.name)
		}
	}
	d.MemoryBytes = procKilobytes("/proc/meminfo", "MemTotal")
	d.FreeBytes = procKilobytes("/proc/meminfo", "MemAvailable")
	var st unix.Statfs_t
	if err := unix.Statfs(existing(dir), &st); err == nil {
		d.DiskBytes = int64(st.Blocks) * int64(st.Bsize)
		d.DiskFree = int64(st.Bavail) * int64(st.Bsize)
	}
	d.GPU = cudaDriver()
	if !cpuinfo.AVX2 {
		d.Warnings = append(d.Warnings, "no AVX2: kernels run in plain Go, some ten times slower")
	}
	if d.MemoryBytes > 0 && d.FreeBytes < 2e9 {
		d.Warnings = append(d.Warnings, "less than 2 GB of memory is available; the demo needs up to that")
	}
	if d.DiskBytes > 0 && d.DiskFree < 2e9 {
		d.Warnings = append(d.Warnings, "less than 2 GB of disk is free for the store; runs exit 75 when it is full")
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil && runtime.GOOS == "linux" {
		d.Warnings = append(d.Warnings, "no /proc: peak memory is not known")
	}
	return d
}

func (d *diagnosis) print(c *console) error {
	t := newTable("", "")
	gpu := "none (no libcuda.so.1)"
	if d.GPU != "" {
		gpu = d.GPU + " is there; stages run on the processor"
	}
	for _, row := range [][]string{
		{"espalier", d.Version + ", go " + d.Go + ", " + d.Platform},
		{"processor", d.CPU},
		{"features", strings.Join(d.Features, ", ")},
		{"cores", strconv.Itoa(d.Cores)},
		{"numerics", d.Numerics},
		{"memory", bytesText(d.MemoryBytes) + ", " + bytesText(d.FreeBytes) + " available"},
		{"disk", bytesText(d.DiskBytes) + ", " + bytesText(d.DiskFree) + " free at " + d.Store},
		{"cache", d.Cache},
		{"gpu", gpu},
	} {
		t.add(row...)
	}
	t.rows = t.rows[1:]
	if err := t.write(c.out); err != nil {
		return err
	}
	for _, w := range d.Warnings {
		if _, err := fmt.Fprintln(c.out, "warning: "+w); err != nil {
			return err
		}
	}
	return nil
}

// existing is the nearest folder above dir that exists, dir included.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "."
	}
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

// procField reads the first value of a name in a file of /proc.
func procField(file, name string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if k, v, ok := strings.Cut(s.Text(), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

func procKilobytes(file, name string) int64 {
	n, err := strconv.ParseInt(strings.TrimSuffix(procField(file, name), " kB"), 10, 64)
	if err != nil {
		return 0
	}
	return n * 1024
}

// cudaDriver finds the library through which a GPU is used.
func cudaDriver() string {
	const name = "libcuda.so.1"
	dirs := filepath.SplitList(os.Getenv("LD_LIBRARY_PATH"))
	dirs = append(dirs, "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/cuda/compat", "/usr/lib/wsl/lib")
	for _, d := range dirs {
		p := filepath.Join(d, name)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
