// Package shard writes and reads typed columnar shards in stable order. It is
// the only door to the Arrow and Parquet modules.
//
// Parquet is zstd level 3 with an explicit schema taken from a struct's tags;
// row groups hold at most 8,192 rows or about 32 MiB. Arrow IPC files are
// uncompressed. Equal rows give equal bytes.
package shard
