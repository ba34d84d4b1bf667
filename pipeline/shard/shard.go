// Package shard writes and reads typed columnar shards in stable order. It is
// the only door to the Arrow and Parquet modules.
//
// A [Writer] makes Parquet files of structs: zstd level 3, an explicit schema
// taken from the struct's parquet tags, row groups of at most 8,192 rows or
// about 32 MiB. Equal rows give equal bytes, however they were handed over.
// With Options.Quick rows go straight to their columns, for a fraction of the time.
// A [Reader] reads them back, whole groups at a time, also into a struct that
// has only some of the columns.
//
// An [ArrayWriter] makes uncompressed Arrow IPC files of lists of numbers;
// [Arrays] reads any row of one with one read at a computed place.
//
// [OpenTable] reads Parquet files, Arrow IPC files and Arrow IPC streams of
// any writer as rows of values.
//
// Readers are safe for concurrent use, writers are not. No length in a file is
// trusted before it has been compared with the file's size; even so, a shard
// whose digest is known should be verified before it is opened, because
// neither format notices a flipped byte by itself.
package shard
