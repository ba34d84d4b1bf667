//go:build !purego

package pool

//go:generate go -C ../_asm run ./pool -pkg pool -out ../pool/pool_amd64.s -stubs ../pool/pool_asm_amd64.go
