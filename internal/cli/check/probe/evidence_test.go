package probe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/check/probe"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/lint/conv"
	"mcpc/internal/render/verdict"
	"mcpc/internal/wire"
)

// listing returns a recording of one tools/list with the given number of tools, each of them
// breaking rules.
func listing(t *testing.T, tools int) *rows.Capture {
	t.Helper()
	var list strings.Builder
	for i := range tools {
		fmt.Fprintf(&list, `,{"name":"bad name %d","description":"%s","inputSchema":{"type":"object"}}`, i, strings.Repeat("x", 2000))
	}
	lines := capture.AppendHead(nil, capture.Head{By: capture.ByTap, Target: "server"})
	for i, raw := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"y","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":2,"result":{"tools":[` + list.String()[1:] + `]}}`,
	} {
		dir := wire.Sent
		if strings.Contains(raw, `"result"`) {
			dir = wire.Received
		}
		lines = capture.AppendFrame(lines, wire.Frame{Seq: uint64(i + 1), Dir: dir, Kind: wire.Body, Raw: []byte(raw)})
	}
	name := filepath.Join(t.TempDir(), "list.jsonl")
	if err := os.WriteFile(name, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := rows.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// filled returns the findings of a recording, and how many bytes were allocated to name their
// evidence.
func filled(t *testing.T, c *rows.Capture) (findings []verdict.Finding, allocated uint64) {
	t.Helper()
	report, err := recorded.JudgeCapture(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	rec := probe.Recording{Rows: c.Rows(), Repeat: func(_ conv.Spot, words string) string { return words }}
	var r verdict.Report
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rec.Fill(&r, report)
	runtime.ReadMemStats(&after)
	return r.Findings, after.TotalAlloc - before.TotalAlloc
}

// TestFillReadsAnExchangeOnce compares the work for ten times as many findings about one
// exchange that is ten times as long: it is about ten times as much, and not a hundred times.
func TestFillReadsAnExchangeOnce(t *testing.T) {
	few, forFew := filled(t, listing(t, 40))
	many, forMany := filled(t, listing(t, 400))
	if len(few) < 40 || len(many) < 400 {
		t.Fatalf("%d and %d findings", len(few), len(many))
	}
	if forMany > 25*forFew {
		t.Errorf("%d bytes were allocated for %d findings, %d for %d", forMany, len(many), forFew, len(few))
	}
	for _, f := range many {
		if f.Subject == "tool bad name 7" && (f.Evidence[0].Exchange == "" || f.Repeat != "raw tools/list --protocol 2025-11-25") {
			t.Errorf("%+v", f)
		}
	}
}
