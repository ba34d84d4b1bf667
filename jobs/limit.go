package jobs

import (
	"fmt"
	"strconv"
	"strings"
)

// CheckMaxDead checks a limit of dead letters: a number or a share.
func CheckMaxDead(s string) error {
	if share, ok := strings.CutSuffix(s, "%"); ok {
		if f, err := strconv.ParseFloat(share, 64); err == nil && f >= 0 && f <= 100 {
			return nil
		}
	} else if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return nil
	}
	return fmt.Errorf("%s, want a number of rows or a share such as 1%%", s)
}
