// Package fleet reads docs/fleet, the files that an organization runs mcpc proxy with, for tests.
package fleet

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
)

// File returns the path of a file of docs/fleet.
func File(t testing.TB, name string) string {
	t.Helper()
	return module.Path(t, "docs/fleet/"+name)
}

// A Panel is a panel of a dashboard with its queries.
type Panel struct {
	ID      int
	Title   string
	Type    string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr string }
}

// Dashboards returns the panels of the dashboards by file.
func Dashboards(t testing.TB) map[string][]Panel {
	t.Helper()
	files, err := filepath.Glob(File(t, "grafana-*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	all := map[string][]Panel{}
	for _, name := range files {
		var dashboard struct {
			UID           string
			SchemaVersion int
			Panels        []Panel
		}
		err := json.Unmarshal([]byte(program.Read(t, name)), &dashboard)
		if err != nil || dashboard.UID == "" || dashboard.SchemaVersion == 0 {
			t.Fatalf("%s: %v, %+v", name, err, dashboard)
		}
		all[filepath.Base(name)] = dashboard.Panels
	}
	return all
}
