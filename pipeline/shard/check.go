package shard

import (
	"fmt"
	"io"
)

// Check reads a whole Parquet or Arrow file back: every page is decompressed
// and decoded, checksums are compared, and all columns must have as many rows
// as the file says. It returns that number.
func Check(r io.ReaderAt, size int64) (rows int64, err error) {
	defer caught(&err, "check: %w", ErrFormat)
	t, err := OpenTable(r, size)
	if err != nil {
		return 0, err
	}
	if t.format == "parquet" {
		rows, err = checkParquet(r, size)
	} else {
		for _, e := range t.Rows() {
			if err = e; err != nil {
				break
			}
			rows++
		}
	}
	if err == nil && rows != t.rows {
		err = fmt.Errorf("%w: %d rows, its metadata says %d", ErrFormat, rows, t.rows)
	}
	return rows, err
}

// checkParquet counts the rows of every column of every row group.
func checkParquet(r io.ReaderAt, size int64) (rows int64, err error) {
	f, err := openParquet(r, size)
	if err != nil {
		return 0, err
	}
	for g, group := range f.RowGroups() {
		meta := f.Metadata().RowGroups[g]
		for c, chunk := range group.ColumnChunks() {
			m := &meta.Columns[c].MetaData
			fail := func(err error) (int64, error) {
				return 0, fmt.Errorf("row group %d, column %s: %w: %w", g, columnName(m.PathInSchema), ErrFormat, err)
			}
			if err := checkPages(r, m); err != nil {
				return fail(err)
			}
			l := leafReader{pages: chunk.Pages()}
			var values int64
			for range meta.NumRows {
				v, err := l.row()
				if err != nil {
					return fail(err)
				}
				values += int64(len(v))
			}
			_, err := l.row()
			l.pages.Close()
			if err != io.ErrUnexpectedEOF || values != m.NumValues {
				return fail(fmt.Errorf("%d values in its first %d rows; the footer says %d in as many", values, meta.NumRows, m.NumValues))
			}
		}
		rows += meta.NumRows
	}
	return rows, nil
}
