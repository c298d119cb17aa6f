package share_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"mcpc/internal/client"
	"mcpc/internal/demo"
	"mcpc/internal/tests/clitest"
	"mcpc/internal/tests/servers"
	"mcpc/internal/validate"
)

// harSchema is written from the specification of HAR.
func harSchema(t *testing.T) *validate.Schema {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "har-1.2.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	schema, warnings, err := validate.Compile(raw)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if findings, _ := schema.Check([]byte(`{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"entries":[{}]}}`)); len(findings) == 0 {
		t.Fatal("the schema lets an empty entry through")
	}
	return schema
}

// HAR against the schema that was written from its specification.
func TestHARFitsItsSchema(t *testing.T) {
	schema := harSchema(t)
	path, err := filepath.Abs(filepath.Join("..", "..", "capture", "rows", "testdata", "golden.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	b := clitest.EnterHome(t)
	l := servers.NewRequestStore(t, demo.Handler(demo.Options{}))
	for _, run := range [][]string{
		{"-s", l.URL + "/mcp?x=1&y=%C3%A9"},
		{"-s", l.URL + "/sse", "--protocol", client.Revisions()[len(client.Revisions())-1]},
		{"-s", "demo"},
		{"-s", "http://127.0.0.1:1/mcp"},
	} {
		b.MCPC(append([]string{"call", "get-sum", `{"a":1,"b":2}`, "--record", "own.jsonl"}, run...)...)
	}
	for _, file := range []string{path, "own.jsonl"} {
		got := b.MCPC("export", file, "--as", "har")
		findings, err := schema.Check([]byte(got.Stdout))
		if got.Code != 0 || err != nil || len(findings) > 0 {
			t.Errorf("%s: ended with %d, %v, %v", file, got.Code, err, findings)
		}
		checkTimings(t, got.Stdout)
	}
}

// checkTimings: the time of an entry is the sum of its parts, without the unknown parts, and TLS is
// a part of connecting.
func checkTimings(t *testing.T, har string) {
	t.Helper()
	var doc struct {
		Log struct {
			Entries []struct {
				Time    float64
				Timings struct{ Blocked, DNS, Connect, SSL, Send, Wait, Receive float64 }
			}
		}
	}
	if err := json.Unmarshal([]byte(har), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Log.Entries) < 4 {
		t.Errorf("only %d entries", len(doc.Log.Entries))
	}
	for i, e := range doc.Log.Entries {
		p, sum := e.Timings, 0.0
		for _, part := range []float64{p.Blocked, p.DNS, p.Connect, p.Send, p.Wait, p.Receive} {
			sum += max(part, 0)
		}
		if diff := sum - e.Time; diff > 1e-6 || diff < -1e-6 || p.SSL > p.Connect || p.Send < 0 || p.Wait < 0 || p.Receive < 0 {
			t.Errorf("entry %d: time %v, timings %+v", i, e.Time, p)
		}
	}
}
