package traffic

import (
	"io"

	"mcpc/internal/capture"
)

func writeMockScript(w io.Writer, rows []*capture.Row) error { return nil }
