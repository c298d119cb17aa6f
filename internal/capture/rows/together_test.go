package rows

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcpc/internal/capture"
	"mcpc/internal/wire"
)

// besides are runs that look alike to who does not see whose a line is: the same ids on
// the same streams.
var besides = map[string][]string{
	"probe": {
		`>1 get`, `>2 {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `<2 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"v1"}}`,
		`>3 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"long"}}`,
	},
	"real": {
		`>1 post`, `>1 {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, `<1 status 200`,
		`<1 {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"v2","x":"` + strings.Repeat("x ", 1000) + `"}}`,
		`>2 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fail"}}`,
		`<2 {"jsonrpc":"2.0","id":2,"result":{"content":[],"isError":true}}`,
	},
}

func recorderBeside(path, in string) *capture.Recorder {
	return capture.NewRecorder(capture.Recording{Open: capture.File(path), Head: capture.Head{Started: noon, Target: in, By: capture.ByCommand, Mark: in}})
}

// record writes runs into one file, a step of one and then a step of another.
func record(t *testing.T, runs ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "together.jsonl")
	recorders := map[string]*capture.Recorder{}
	for i, more := 0, true; more; i++ {
		more = false
		for _, run := range runs {
			if recorders[run] == nil {
				recorders[run] = recorderBeside(path, run)
			}
			if r := recorders[run]; i < len(besides[run]) {
				more = true
				r.Tap(scripted(besides[run][i], i))
				r.Flush()
			}
		}
	}
	for _, run := range runs {
		r := recorders[run]
		r.End(capture.End{Time: noon, Kind: wire.Signal, Exit: 130, ID: json.RawMessage("1")})
		r.Lost(1)
		r.End(capture.End{Time: noon, Kind: wire.Timeout, Exit: 9, Method: "tools/call"})
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// rowsOfRun are the rows of one run, and what they are for when they are copied.
func rowsOfRun(t *testing.T, path, run string) (rows []string, copied string) {
	t.Helper()
	c, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var own []*Row
	for _, row := range c.Rows() {
		if row.Head().Target == run {
			_, text, _ := strings.Cut(rowText(row), " ")
			rows, own = append(rows, fmt.Sprint(text, row.IsMain)), append(own, row)
		}
	}
	var b bytes.Buffer
	if err := c.Copy(&b, own); err != nil {
		t.Fatal(err)
	}
	return rows, b.String()
}

// Runs that are recorded into one file at the same time are each what they are alone.
func TestInterleavedRunsAreReadLikeSingleRuns(t *testing.T) {
	together := record(t, "probe", "real")
	for run := range besides {
		rows, copied := rowsOfRun(t, record(t, run), run)
		gotRows, gotCopied := rowsOfRun(t, together, run)
		if diff := cmp.Diff(rows, gotRows); diff != "" || len(rows) != 2 {
			t.Errorf("%s (-alone +together):\n%s", run, diff)
		}
		if diff := cmp.Diff(copied, gotCopied); diff != "" {
			t.Errorf("%s, copied (-alone +together):\n%s", run, diff)
		}
	}
	c, err := Open(together)
	if err != nil || len(c.Findings()) != 2 {
		t.Fatalf("%v, %v", err, c.Findings())
	}
	defer c.Close()
	for _, row := range c.Rows() {
		if n := (row.Index + 1) / 2; c.RowIn(row.Target, n) != row || c.RowIn(row.Target, n+2) != nil {
			t.Errorf("number %d of %s is %v", n, row.Target, c.RowIn(row.Target, n))
		}
		frames, err := row.Frames()
		if err != nil {
			t.Fatal(err)
		}
		if head, err := c.StreamBefore(row, frames[len(frames)-1]); err != nil || (head != nil) != (row.Target == "probe") {
			t.Errorf("%s of %s has a stream before: %v, %v", row.Method, row.Target, head, err)
		}
	}
}

// The spelling of such lines does not matter, nor whether the file is read at once.
func TestInterleavedRunsInAnySpelling(t *testing.T) {
	lines, err := os.ReadFile(record(t, "probe", "real"))
	if err != nil {
		t.Fatal(err)
	}
	for name, spelled := range map[string][]byte{
		"otherwise":            bytes.ReplaceAll(lines, []byte("\n{\"in\""), []byte("\n{ \"in\"")),
		"behind a killed line": bytes.ReplaceAll(lines, []byte("\n{\"in\""), []byte("\n{\"in\":\"gone\",\"seq\":1,\"raw\":\"{\\\"in\\\":\\\"gone{\"in\"")),
	} {
		path := filepath.Join(t.TempDir(), "spelled.jsonl")
		if err := os.WriteFile(path, spelled[:len(spelled)/2], 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, spelled, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Refresh(); err != nil {
			t.Fatal(err)
		}
		var rows []string
		for _, row := range c.Rows() {
			frames, err := row.Frames()
			rows = append(rows, fmt.Sprintf("%s %s: %d frames, %v", row.Target, rowText(row), len(frames), err))
		}
		if diff := cmp.Diff([]string{
			"probe 1 initialize  signal 130 1ms 0 v1: 2 frames, <nil>",
			"real 2 initialize  signal 130 2ms 200 v2: 4 frames, <nil>",
			"probe 3 tools/call long timeout 9 0s 0 v1: 1 frames, <nil>",
			"real 4 tools/call fail timeout 9 1ms 0 v2: 2 frames, <nil>",
		}, rows); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", name, diff)
		}
		c.Close()
	}
}

// A line without the head of its run belongs to no run.
func TestLineOfAnUnknownRun(t *testing.T) {
	path := record(t, "probe")
	lines, _ := os.ReadFile(path)
	lines = append(lines, `{"in":"unknown","seq":1,"dir":"sent","kind":"body","raw":"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}"}`+"\n"...)
	if err := os.WriteFile(path, lines, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Open(path)
	if err != nil || len(c.Rows()) != 2 || len(c.Findings()) != 2 || c.Findings()[1].Rule != "damaged_line" {
		t.Errorf("%v, %d rows, %v", err, len(c.Rows()), c.Findings())
	}
}

// A long frame is one line, too, even if two recorders write at the same time.
func TestInterleavedLongFrames(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long: scripts/check.sh runs it without -short")
	}
	path := filepath.Join(t.TempDir(), "long.jsonl")
	var all sync.WaitGroup
	for _, in := range []string{"a", "b"} {
		all.Go(func() {
			r := recorderBeside(path, in)
			for id := range 2 {
				r.TapSafe(wire.Frame{Seq: uint64(id), Time: noon, Raw: fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping","params":{"of":"%s%s"}}`,
					id, in, strings.Repeat("x", 8*capture.LongFrame))}) // whose pieces would be mixed
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := Open(path)
	if err != nil || len(c.Rows()) != 4 || len(c.Findings()) > 0 {
		t.Fatalf("%v, %d rows, %v", err, len(c.Rows()), c.Findings())
	}
	defer c.Close()
	for _, row := range c.Rows() {
		frames, err := row.Frames()
		if err != nil || len(frames) != 1 || !bytes.Contains(frames[0].Raw, []byte(`{"of":"`+row.Target)) {
			t.Errorf("%s: %d frames, %v", row.Target, len(frames), err)
		}
	}
}
