package rows

import "mcpc/internal/capture"

// Sizes say from how many bytes on a file is indexed or compressed, and how many rows a page has.
type Sizes struct {
	IndexFrom, CompressFrom int64
	PageRows                int
}

// SetSizes sets the sizes for the whole process and returns those before. It is for tests of other packages, which
// read small files as if they were large, and may not be called while captures are open.
func SetSizes(s Sizes) (before Sizes) {
	before = Sizes{indexFrom, capture.CompressFrom, pageRows}
	indexFrom = s.IndexFrom
	capture.CompressFrom = s.CompressFrom
	pageRows = s.PageRows
	return before
}
