package cli

import (
	"fmt"
	"strconv"
	"time"
)

// duration writes a time as 41s, 12m06s or 3h05m.
func duration(d time.Duration) string {
	s := int64(d.Round(time.Second) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%dh%02dm", s/3600, s%3600/60)
}

func seconds(s float64) string { return duration(time.Duration(s * float64(time.Second))) }

// bytesText writes a size with a unit: 1.5 MB, in powers of 1,000 as disks and
// ls --si count them.
func bytesText(n int64) string {
	if n < 1000 {
		return strconv.FormatInt(n, 10) + " B"
	}
	f, unit := float64(n), 0
	units := []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	for f >= 999.5 && unit < len(units)-1 {
		f /= 1000
		unit++
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f %s", f, units[unit])
	}
	return fmt.Sprintf("%.0f %s", f, units[unit])
}

// rate writes a count a second with three figures.
func rate(perSecond float64) string {
	switch {
	case perSecond >= 9.995e5:
		return fmt.Sprintf("%.3gM", perSecond/1e6)
	case perSecond >= 999.5:
		return fmt.Sprintf("%.3gk", perSecond/1e3)
	case perSecond >= 99.5:
		return fmt.Sprintf("%.0f", perSecond)
	}
	return fmt.Sprintf("%.3g", perSecond)
}

// count writes a number, or - for one that is not known yet.
func count(n int64, known bool) string {
	if !known {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}
