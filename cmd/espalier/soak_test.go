package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestSoak extracts features of generated images, one in fifty damaged, once
// undisturbed and once killed ten times: the digests agree, the damaged images
// and no others are dead letters, and memory does not grow with the number of
// images. ESPALIER_SOAK_IMAGES makes the set larger: the full size is 5000.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the binary many times")
	}
	images := 300
	if s := os.Getenv("ESPALIER_SOAK_IMAGES"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 100 {
			t.Fatalf("ESPALIER_SOAK_IMAGES=%s: want a number from 100 on", s)
		}
		images = n
	}
	const kills = 10
	p := build(t)
	dir := t.TempDir()
	dead := drawSoak(t, filepath.Join(dir, "images"), images)
	job := filepath.Join(dir, "soak.yaml")
	text := fmt.Sprintf(`max_dead: 5%%
stages:
  images: {kind: pipeline/files, path: images}
  grids:
    kind: features/extract
    inputs: {images: images}
    network: {layers: [1, 1, 1, 1], width: 16, seed: 7}
    part_images: %d
`, max(images/25, 4))
	if err := os.WriteFile(job, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p.job = job

	calm := filepath.Join(dir, "calm")
	c := p.command("run", calm, "--progress", "none")
	begin := time.Now()
	memory := watched(t, c)
	whole := time.Since(begin)
	want := p.show(t, calm)
	t.Logf("%d images, %d damaged, undisturbed: %v, %.1f images/s, memory %s", images, len(dead), whole.Round(time.Millisecond), float64(images)/whole.Seconds(), memory)
	if first, second, ok := memory.halves(); ok && second > first+first/4+64<<20 {
		t.Errorf("memory grows: up to %d MB in the first half, %d MB in the second", first>>20, second>>20)
	}
	if got := deadFiles(t, p, want[1].Path); !slices.Equal(got, dead) {
		t.Errorf("dead letters %v, want those of the damaged images %v", got, dead)
	}

	killed := filepath.Join(dir, "killed")
	random := rand.New(rand.NewPCG(3, 4))
	n := 0
	for attempt := 0; ; attempt++ {
		before := manifests(t, killed)
		var log bytes.Buffer
		c := p.command("run", killed, "--progress", "none", "-j", []string{"1", "2"}[attempt%2])
		c.Stderr = &log
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var timer *time.Timer
		if n < kills {
			timer = time.AfterFunc(whole/20+time.Duration(random.Int64N(int64(whole)/20)), func() { c.Process.Kill() })
		}
		err := c.Wait()
		if timer != nil {
			timer.Stop()
		}
		for path, was := range before {
			if is, ok := manifests(t, killed)[path]; !ok || !os.SameFile(was, is) {
				t.Errorf("attempt %d: %s was committed and has been made again", attempt, path)
			}
		}
		if err == nil {
			break
		}
		if c.ProcessState.ExitCode() != -1 {
			t.Fatalf("attempt %d: %v\n%s", attempt, err, &log)
		}
		n++
	}
	if n < kills {
		t.Errorf("%d kills before the run was done, want %d", n, kills)
	}
	got := p.show(t, killed)
	for i := range want {
		if got[i].Digest != want[i].Digest {
			t.Errorf("stage %s: digest %.8s after %d kills, %.8s undisturbed", want[i].Stage, got[i].Digest, n, want[i].Digest)
		}
	}
	if got := deadFiles(t, p, got[1].Path); !slices.Equal(got, dead) {
		t.Errorf("dead letters after %d kills %v, want %v", n, got, dead)
	}
	t.Logf("%d kills, %v in all", n, time.Since(begin).Round(time.Second))
}

// deadFiles are the files of an output's dead letters, sorted.
func deadFiles(t *testing.T, p *program, output string) []string {
	t.Helper()
	c := exec.Command(p.binary, "cat", filepath.Join(output, "deadletter.parquet"))
	c.Env = p.env
	out, err := c.Output()
	if err != nil {
		t.Fatalf("espalier cat: %v", err)
	}
	var files []string
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var r struct{ File, Reason string }
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Reason == "" {
			t.Errorf("dead letter of %s without a reason", r.File)
		}
		files = append(files, r.File)
	}
	slices.Sort(files)
	return files
}

// resident is a process's memory over time, in bytes.
type resident []int64

func (r resident) String() string {
	first, second, ok := r.halves()
	if !ok {
		return "not known"
	}
	return fmt.Sprintf("up to %d MB in the first half, %d MB in the second", first>>20, second>>20)
}

// halves is the most in each half of the time; not ok without enough samples.
func (r resident) halves() (first, second int64, ok bool) {
	if len(r) < 10 {
		return 0, 0, false
	}
	return slices.Max(r[:len(r)/2]), slices.Max(r[len(r)/2:]), true
}

// watched runs a command to its end and watches its memory, where the system
// tells it.
func watched(t *testing.T, c *exec.Cmd) resident {
	t.Helper()
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan resident)
	go func() {
		var r resident
		for tick := time.Tick(50 * time.Millisecond); ; {
			select {
			case <-stop:
				done <- r
				return
			case <-tick:
				if n := residentBytes(c.Process.Pid); n > 0 {
					r = append(r, n)
				}
			}
		}
	}()
	err := c.Wait()
	close(stop)
	r := <-done
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	return r
}

// residentBytes is 0 where /proc does not say.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(text), "VmRSS:")
	if !ok {
		return 0
	}
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}

// drawSoak fills a folder with images of many sizes, JPEG and PNG, and returns
// the names of the damaged ones, sorted: one in fifty.
func drawSoak(t *testing.T, dir string, n int) (damaged []string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(5, 6))
	for i := range n {
		w, h := 120+random.IntN(200), 100+random.IntN(150)
		data := drawn(t, random, w, h, i%10 == 3)
		name := fmt.Sprintf("%05d.jpg", i)
		if i%50 == 17 {
			data = damage(data, i/50)
			damaged = append(damaged, name)
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return damaged
}

// drawn is an image of stripes and a disc.
func drawn(t *testing.T, random *rand.Rand, w, h int, asPNG bool) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	a, b, r := random.IntN(9)+1, random.IntN(9)+1, random.IntN(h/2)+1
	tint := color.RGBA{byte(random.IntN(256)), byte(random.IntN(256)), byte(random.IntN(256)), 255}
	for y := range h {
		for x := range w {
			c := color.RGBA{byte(x*a + y), byte(y*b - x), byte((x + y) / a), 255}
			if (x-w/2)*(x-w/2)+(y-h/2)*(y-h/2) < r*r {
				c = tint
			}
			m.SetRGBA(x, y, c)
		}
	}
	var buf bytes.Buffer
	var err error
	if asPNG {
		err = png.Encode(&buf, m)
	} else {
		err = jpeg.Encode(&buf, m, &jpeg.Options{Quality: 60 + random.IntN(35)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// damage makes a file that must be refused: cut, empty, another kind of file, a
// bomb, without size, of 12 bits, arithmetic-coded, with a gap.
func damage(data []byte, kind int) []byte {
	sof := bytes.Index(data, []byte{0xff, 0xc0})
	set := func(at int, v ...byte) []byte {
		b := bytes.Clone(data)
		copy(b[at:], v)
		return b
	}
	switch k := kind % 8; {
	case k == 0:
		return data[:len(data)*2/3]
	case k == 1:
		return nil
	case k == 2:
		return []byte("<!DOCTYPE html><title>404</title>")
	case k == 3:
		b := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), 0, 1, 0x86, 0xa0, 0, 1, 0x86, 0xa0, 8, 2, 0, 0, 0)
		return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[12:]))
	case sof < 0 || k == 7:
		return data[:len(data)/3]
	case k == 4:
		return set(sof+5, 0, 0)
	case k == 5:
		return set(sof+4, 12)
	}
	return set(sof+1, 0xc9)
}
