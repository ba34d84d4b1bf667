// Package vectors is the image-feature record.
//
// Grids lie in Arrow IPC files: columns id (utf8), height, width (int32) and
// values, one fixed-size list of float16 or float32 a row, whose values lie
// side by side (row-major, channels last), so that a row's place is computed
// and read with one pread. Region features hold lists and boxes.
package vectors

// Schemas are the schema ids of vector shards.
const (
	GridSchema   = "vectors/grid/1"
	RegionSchema = "vectors/region/1"
)

// A Row is one image's features.
type Row struct {
	ID            string    // as written in the list, or relative to the root of the folder
	Height, Width int       // cells of a grid; 0 for regions
	Count         int       // vectors: Height*Width of a grid, boxes of a region row
	Dim           int       // length of one vector
	Values        []float32 // Count*Dim
	Boxes         []float32 // Count*4: x1 y1 x2 y2 relative to the image; nil for grids
}
