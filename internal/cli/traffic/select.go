package traffic

import (
	"mcpc/internal/capture"
	"mcpc/internal/capture/filter"
	"mcpc/internal/cli/cmdutil"
)

// matching is the filter over a row. What cannot be read does not fit, and is
// reported.
func matching(f *cmdutil.Factory, filter filter.Filter) func(*capture.Row) bool {
	return func(row *capture.Row) bool {
		fits, err := filter.Match(row)
		if err != nil {
			f.Warn(row.Path() + ": " + err.Error())
		}
		return fits
	}
}
