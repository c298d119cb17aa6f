package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// A text is found with an index wherever it is found without, however it is spelled.
func TestFiltersFindTheSameWithAnIndex(t *testing.T) {
	spelled := []string{`Zebra`, `zEBRA`, `zebra\u0021`, `z\u0065bra`, `a/b/zebra`, `a\/b`, `"quoted"`, `\"quoted\"`, "Grüße", `Gr\u00fc\u00dfe`, "k\u212aelvin", "tab\there", "\xff zebra", "übel/", "end\\"}
	lines := capture.AppendHead(nil, capture.Head{By: capture.ByTap})
	fill := strings.Repeat("lorem ipsum dolor sit amet ", 1200)
	for i, text := range spelled {
		for n, raw := range []string{text, text + fill, fill + text} {
			lines = capture.AppendFrame(lines, wire.Frame{Seq: uint64(i), Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"m","params":{"x":"%s"}}`, 10*i+n, raw)})
		}
	}
	// Other programs spell lines in another way.
	other := strings.NewReplacer("lorem", `l\u006frem`, "a/b", `a\/b`).Replace(string(lines[len(lines)/2:]))
	lines = capture.AppendEnd(append(lines, other[strings.IndexByte(other, '\n')+1:]...), capture.End{})
	path := filepath.Join(t.TempDir(), "000001.jsonl")
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	plain, err := capture.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for range 2 {
		indexed, err := capture.OpenIndexed(path, "")
		if err != nil {
			t.Fatal(err)
		}
		defer indexed.Close()
		found := 0
		for _, text := range slices.Concat(spelled, []string{"zebra", "ZEBRA!", "b/z", "/zebra", `body~/zebra/`, `body~/(?i)zeb(ra|x)/`, `body~/Gr.+e/`, `body~/a\/b|quoted/`,
			"ipsum", "nothing", `body:kkelvin`, "here", "-zebra", `zebra or quoted`, `secret:*`}) {
			if !strings.Contains(text, ":") && !strings.Contains(text, "~") && !strings.HasPrefix(text, "-") && !strings.Contains(text, " or ") {
				text = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
			}
			f, err := Parse(text, filterNow, judge)
			if err != nil {
				t.Fatal(text, err)
			}
			var want, got []string
			for i, row := range plain.Rows() {
				if fits, _ := f.Match(row); fits {
					want = append(want, row.Number())
				}
				if fits, err := f.Match(indexed.Rows()[i]); fits || err != nil {
					got = append(got, row.Number())
				}
			}
			if found += len(want); !slices.Equal(want, got) {
				t.Errorf("%s: %s", text, cmp.Diff(want, got))
			}
		}
		if found < 100 {
			t.Errorf("%d found", found)
		}
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(path), "000001.idx")); err != nil {
		t.Error(err)
	}
}
