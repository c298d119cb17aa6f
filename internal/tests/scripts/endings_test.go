package scripts_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"mcpc/internal/wire"
)

// Every kind of outcome has a script, named exit_CODE_KIND, or a reason for having no script.
func TestEveryEndingHasAScript(t *testing.T) {
	none := map[wire.Kind]string{
		wire.CheckFailed: "the scripts of mcpc run and export --check are its tests",
		wire.NoMatch:     "the scripts of mcpc grep are its tests",
		wire.Internal:    "TestPanicExitsWith70 is its test: no input is known to do it",
	}
	for _, e := range wire.ExitCodes {
		found, err := filepath.Glob(filepath.Join("testdata", "script", fmt.Sprintf("exit_%02d_*.txtar", e.Code)))
		if err != nil {
			t.Fatal(err)
		}
		if none[e.Kind] == "" && len(found) != 1 || none[e.Kind] != "" && len(found) != 0 {
			t.Errorf("%d %s: the scripts are %q", e.Code, e.Kind, found)
		}
	}
}
