package peak

import (
	"testing"
	"time"

	"espalier/trainer/kernel/cpuinfo"
)

func TestRates(t *testing.T) {
	for _, l := range cpuinfo.Levels() {
		restore := cpuinfo.Limit(l)
		fma, read := FMA(1, 10*time.Millisecond), Read(1, 1<<20, 10*time.Millisecond)
		restore()
		t.Logf("%v: %.1f GFLOP/s, %.1f GB/s", l, fma, read)
		if !(fma > 0) || !(read > 0) {
			t.Errorf("%v: %g GFLOP/s and %g GB/s", l, fma, read)
		}
	}
}
