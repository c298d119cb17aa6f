package recorded

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/rows"
	"mcpc/internal/lint"
	"mcpc/internal/wire"
)

// A recording is written message by message.
type recording struct {
	t    *testing.T
	name string
	seq  uint64
}

func begin(t *testing.T) *recording {
	r := &recording{t: t, name: filepath.Join(t.TempDir(), "x.jsonl")}
	r.write(capture.AppendHead(nil, capture.Head{By: capture.ByTap}))
	r.sent(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	r.received(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"y","version":"1"}}}`)
	r.sent(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r
}

func (r *recording) write(text []byte) {
	r.t.Helper()
	f, err := os.OpenFile(r.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		r.t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(text); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recording) frame(dir wire.Direction, raw string) {
	r.seq++
	r.write(capture.AppendFrame(nil, wire.Frame{Seq: r.seq, Time: time.Unix(int64(r.seq), 0), Dir: dir, Raw: []byte(raw)}))
}

func (r *recording) sent(raw string)     { r.frame(wire.Sent, raw) }
func (r *recording) received(raw string) { r.frame(wire.Received, raw) }

// page is a list of one tool without an object schema, and with a further page.
func (r *recording) page(id string) {
	r.sent(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/list"}`)
	r.received(`{"jsonrpc":"2.0","id":` + id + `,"result":{"tools":[{"name":"a` + id + `","inputSchema":{"type":"string"}}],"nextCursor":"2"}}`)
}

func (r *recording) end() { r.write(capture.AppendEnd(nil, capture.End{Time: time.Unix(99, 0)})) }

func (r *recording) open() *rows.Capture {
	r.t.Helper()
	c, err := rows.Open(r.name)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(c.Close)
	return c
}

// broke reports which of two rules a row broke, as a filter sees it.
func broke(t *testing.T, j *RowFindings, row *rows.Row) (entry, cursor bool) {
	t.Helper()
	words, err := j.WordsFor(row)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range words {
		if !slices.Contains(j.Words(), word) {
			t.Errorf("no filter can name %q", word)
		}
	}
	return slices.Contains(words, "L106"), slices.Contains(words, "client-cursor")
}

// The findings of a row are its own, and a cursor that was not followed is a finding if the
// recording has its end.
func TestFindingsOfRows(t *testing.T) {
	for _, ended := range []bool{true, false} {
		r := begin(t)
		r.page("2")
		r.sent(`{"jsonrpc":"2.0","id":3,"method":"ping"}`)
		r.received(`{"jsonrpc":"2.0","id":3,"result":{}}`)
		if ended {
			r.end()
		}
		c, j := r.open(), &RowFindings{}
		for i, row := range c.Rows() {
			entry, cursor := broke(t, j, row)
			if list := i == 1; entry != list || cursor != (list && ended) {
				t.Errorf("ended %v: %s: L106 %v, client-cursor %v", ended, row.Method, entry, cursor)
			}
			report, err := JudgeRow(row)
			if err != nil {
				t.Fatal(err)
			}
			found := func(id string) bool {
				return slices.ContainsFunc(report.Findings, func(f lint.Finding) bool { return f.Rule == id })
			}
			if found("L106") != entry || found("client-cursor") != cursor {
				t.Errorf("ended %v: %s: %+v", ended, row.Method, report.Findings)
			}
		}
		if report, err := JudgeCapture(t.Context(), c); err != nil || slices.ContainsFunc(report.Findings, func(f lint.Finding) bool { return f.Rule == "client-cursor" }) != ended {
			t.Error(ended, err)
		}
	}
}

// A growing recording is read further; findings that depend on its end come with the end.
func TestFindingsOfARecordingThatGrows(t *testing.T) {
	r := begin(t)
	r.page("2")
	c, j := r.open(), &RowFindings{Live: true}
	if entry, cursor := broke(t, j, c.Rows()[1]); !entry || cursor {
		t.Errorf("L106 %v, client-cursor %v", entry, cursor)
	}
	r.page("3")
	if _, err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	if entry, cursor := broke(t, j, c.Rows()[2]); !entry || cursor {
		t.Errorf("then: L106 %v, client-cursor %v", entry, cursor)
	}
	r.end()
	if _, err := c.Refresh(); err != nil {
		t.Fatal(err)
	}
	if entry, cursor := broke(t, j, c.Rows()[2]); !entry || !cursor {
		t.Errorf("in the end: L106 %v, client-cursor %v", entry, cursor)
	}
	if entry, _ := broke(t, j, c.Rows()[1]); !entry || len(j.checked) != 1 {
		t.Errorf("L106 %v, %d captures", entry, len(j.checked))
	}
}

// The number of remembered captures is limited, and a deleted file is an error for each row.
func TestFindingsOfManyCaptures(t *testing.T) {
	j := &RowFindings{}
	for range maxChecked + 2 {
		r := begin(t)
		r.page("2")
		if entry, _ := broke(t, j, r.open().Rows()[1]); !entry || len(j.checked) > maxChecked {
			t.Fatalf("L106 %v, %d captures", entry, len(j.checked))
		}
	}
	r := begin(t)
	c := r.open()
	if err := os.Remove(r.name); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := j.WordsFor(c.Rows()[0]); err == nil {
			t.Error("no error")
		}
	}
	if words, err := j.WordsFor(&rows.Row{}); words != nil || err != nil {
		t.Error(words, err)
	}
}
