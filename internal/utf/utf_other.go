//go:build !amd64 || purego

package utf

func valid([]byte) int { return 0 }

func plain([]byte) int { return 0 }

func short([]byte) (ok, known bool) { return false, false }
