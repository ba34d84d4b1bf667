//go:build !amd64 || purego

package pool

// pause lets n moments go by.
func pause(n int) {
	for i := 0; i < n; i++ {
	}
}
