package filter

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
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
	plain, err := rows.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for range 2 {
		indexed, err := rows.OpenIndexed(path, "")
		if err != nil {
			t.Fatal(err)
		}
		defer indexed.Close()
		found := 0
		for _, text := range slices.Concat(spelled, []string{
			"zebra", "ZEBRA!", "b/z", "/zebra", `body~/zebra/`, `body~/(?i)zeb(ra|x)/`, `body~/Gr.+e/`, `body~/a\/b|quoted/`,
			"ipsum", "nothing", `body:kkelvin`, "here", "-zebra", `zebra or quoted`, `secret:*`,
		}) {
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

// May passes over no page with a row that is wanted, and over most of those without.
func TestMaySkipsOnlyPagesWithoutMatch(t *testing.T) {
	lines, fill := []byte(nil), strings.Repeat("lorem ipsum dolor sit amet ", 20)
	for i := range 1600 {
		at := filterNow.Add(time.Duration(i-1600) * time.Minute)
		if i%800 == 0 {
			lines = capture.AppendHead(lines, capture.Head{By: []string{capture.ByTap, capture.ByProxy}[i/800], Target: fmt.Sprintf("server-%d", i/800), Started: at})
		}
		answer := fmt.Sprintf(`"result":{"content":[],"text":"%s %d"}`, fill, i)
		if i%500 == 77 {
			answer = `"error":{"code":-32602,"message":"a zebra"}`
		}
		for n, f := range []wire.Frame{
			{Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"n%d","method":"tools/call","params":{"name":"tool-%d"}}`, i, i/300)},
			{Dir: wire.Received, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":"n%d",%s}`, i, answer)},
		} {
			f.Seq, f.Time = uint64(2*i+n+1), at.Add(time.Duration(n*i)*time.Millisecond)
			lines = capture.AppendFrame(lines, f)
		}
	}
	path := filepath.Join(t.TempDir(), "000001.jsonl")
	if err := os.WriteFile(path, capture.AppendEnd(lines, capture.End{}), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, err := rows.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	for range 2 {
		indexed, err := rows.OpenIndexed(path, "")
		if err != nil {
			t.Fatal(err)
		}
		defer indexed.Close()
		pages := indexed.Pages()
		if len(pages) != 7 {
			t.Fatalf("%d pages", len(pages))
		}
		for text, most := range map[string]int{
			"": 7, "name:tool-0": 2, "-name:tool-0": 7, "name:tool-5 or name:tool-0": 4, "target:server-1": 4, "not (target:server-0)": 4,
			"channel:rpc_error": 4, "-channel:ok": 4, "is:error": 4, "has:question": 7, "-has:question": 7, "id:n7": 7, "-id:n7": 7, "id~/^n77$/": 7, "dur:>1s": 4,
			"-dur:>1s": 7, "dur:>=1599ms": 1, "dur:<256ms": 2, "dur:<=255ms": 1, "dur:<=100ms": 1, "dur:!=0ms": 7, "dur:300ms": 2, "dur:!=3ms": 7, "dur:1s..1100ms": 4, "ttfb:>1500ms": 3, "ttfb:>1h": 0,
			"size:>1kb": 0, "size:>600b": 7, "since:10m": 1, "time:<2020-01-01": 0, "since:10m or dur:<5ms": 2, "-since:10m": 7, "zebra": 7, "-zebra": 7, "body:zebra name:tool-0": 2, "body~/zeb(ra|x)/": 7,
			"tool-4": 7, "xylophone": 7, "target~/r-1$/": 4, "kind:stderr": 0, "-kind:body": 0, "conn:9": 0, "run:3": 0, "finding:L106": 7, "secret:*": 7, "protocol:2025-*": 0,
		} {
			f, err := Parse(text, filterNow, judge)
			if err != nil {
				t.Fatal(text, err)
			}
			var want, got []string
			for _, row := range plain.Rows() {
				if fits, _ := f.Match(row); fits {
					want = append(want, row.Number())
				}
			}
			looked := 0
			for _, p := range pages {
				if !f.MayMatch(p) {
					continue
				}
				looked++
				for _, row := range p.Select(func(r *rows.Row) bool { fits, _ := f.Match(r); return fits }) {
					got = append(got, row.Number())
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || looked > most {
				t.Errorf("%q: looked at %d pages, want at most %d (-rows +pages): %s", text, looked, most, diff)
			}
		}
	}
}
