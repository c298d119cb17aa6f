package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/client"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/lint/conv"
	"mcpc/internal/lint/hosts"
	"mcpc/internal/redact"
	"mcpc/internal/render/verdict"
	"mcpc/internal/shellwords"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

func evidenceSpot(e lint.Evidence) conv.Spot { return conv.Spot{Conn: e.Conn, Seq: e.Seq} }

// A Recording has the rows by which evidence is named: those of the run with index Base in
// their capture and of the runs after it. Repeat makes the command that sends the request of
// the evidence again; words is RequestWords of its row. Revision is that by which a probe was
// judged. Both may be nil.
type Recording struct {
	Rows     []*rows.Row
	Base     int
	Repeat   func(at conv.Spot, words string) string
	Revision func(at conv.Spot) string
	// Several is set if the rows are of several servers: each finding names its own.
	Several bool
}

// Fill writes what the linter found into a report.
func (rec Recording) Fill(r *verdict.Report, report lint.Report) {
	for _, j := range report.Judgements {
		word := string(j.Verdict)
		if j.Verdict == lint.Fail {
			word = string(conv.Error)
		}
		r.Rules = append(r.Rules, verdict.Rule{ID: j.ID, Verdict: word, Why: j.Why, Severity: string(j.Rule.Severity),
			Title: j.Rule.Title, Source: j.Rule.Page(j.Rule.To), Fix: j.Rule.Fix, Tags: j.Rule.Tags})
	}
	at := rec.locate(report.Findings)
	words := map[*rows.Row]string{nil: ""} // many findings may have the same row: it is read once
	for _, f := range report.Findings {
		finding := recorded.VerdictFinding(f)
		for i, e := range f.Evidence {
			out := &finding.Evidence[i]
			row := at[evidenceSpot(e)]
			revision := ""
			if rec.Revision != nil {
				revision = rec.Revision(evidenceSpot(e))
			}
			if row != nil {
				out.Exchange = row.Number()
				if row.Run == 0 {
					out.Exchange = row.Path() + "#" + row.Number()
				}
				revision = cmp.Or(revision, row.Revision)
				if rec.Several && finding.Server == "" {
					finding.Server = Server(row)
				}
			}
			revision = cmp.Or(f.Revision, revision) // a probe states a revision by which an older server is not judged
			if slices.Contains(client.Revisions(), revision) && !slices.Contains(finding.Revisions, revision) {
				finding.Revisions = append(finding.Revisions, revision)
			}
			if i == 0 && rec.Repeat != nil {
				if _, known := words[row]; !known {
					words[row] = repeatWordsOf(row)
				}
				finding.Repeat = rec.Repeat(evidenceSpot(e), words[row])
			}
		}
		r.Findings = append(r.Findings, finding)
	}
}

// locate finds the rows to which the evidence belongs. The recording is read once more, as
// far as something is missing.
func (rec Recording) locate(findings []lint.Finding) map[conv.Spot]*rows.Row {
	missing := map[conv.Spot]bool{}
	found := map[conv.Spot]*rows.Row{}
	for _, f := range findings {
		for _, e := range f.Evidence {
			missing[evidenceSpot(e)] = true
		}
	}
	for _, row := range rec.Rows {
		if len(missing) == 0 {
			break
		}
		_ = row.EachFrame(func(f wire.Frame) error {
			at := conv.Spot{Conn: recorded.ConnOfRun(row.RunIndex()-rec.Base, f.Conn), Seq: f.Seq}
			if missing[at] {
				delete(missing, at)
				found[at] = row
			}
			return nil
		})
	}
	return found
}

// Own is the recording that the command itself has made so far, and its name for a user; nil
// where there is none.
func openOwnRecording(f *cmdutil.Factory) (c *rows.Capture, name string) {
	rec := &f.Record
	path := f.RecordTo
	if rec.Recorder == nil {
		return nil, ""
	}
	rec.Flush()
	name = path
	if path == "" {
		run, err := rec.Ring.Find(rec.Run())
		if err != nil {
			return nil, ""
		}
		path = run.Path
		name = fmt.Sprintf("run %d", run.Number)
	}
	c, err := rows.Open(path)
	if err != nil {
		return nil, name
	}
	return c, name
}

// RequestWords returns the words of the mcpc command that sends the request of a row again,
// or "" if no command does. It reads the exchange.
func repeatWordsOf(row *rows.Row) string {
	if rows.ByServer(row) || strings.HasPrefix(row.Method, "(") || row.Method == "" {
		return ""
	}
	words := "raw " + shellwords.Quote(row.Method)
	if x, err := row.Exchange(); err == nil && x != nil {
		// The marks that every client puts there are left out.
		params := jsonraw.Without(wire.ParseMessage(x.Request.Raw).Params, "_meta")
		if members, err := jsonraw.Object(params); err == nil && len(members) > 0 {
			words += " " + shellwords.Quote(string(params))
		}
	}
	if slices.Contains(client.Revisions(), row.Revision) {
		words += " --protocol " + row.Revision
	}
	return words
}

// Hosts is what the model interfaces of hosts do with tools; nil where there are none.
func Hosts(tools []json.RawMessage) *verdict.Hosts {
	if len(tools) == 0 {
		return nil
	}
	out := &verdict.Hosts{}
	for _, h := range hosts.All() {
		out.Hosts = append(out.Hosts, verdict.Host{ID: h.ID, Title: h.Title, Date: h.Date, Source: h.Source})
	}
	plain := sliceutil.Map(tools, func(tool json.RawMessage) json.RawMessage {
		return redact.WithWords(tool) // a host may accept what was hidden
	})
	for i, row := range hosts.Matrix(plain) {
		tool := verdict.HostTool{Tool: conv.TextInside(tools[i], "name")}
		for _, c := range row.Cells {
			cell := verdict.HostCell{Host: c.Host, Verdict: string(c.Verdict)}
			for _, p := range c.Problems {
				if reason := string(p.Verdict) + ": " + p.Text; !slices.Contains(cell.Reasons, reason) {
					cell.Reasons = append(cell.Reasons, reason)
				}
			}
			tool.Cells = append(tool.Cells, cell)
		}
		out.Tools = append(out.Tools, tool)
	}
	return out
}

// Tools are those of the lists in recorded rows, each name once.
func (rec Recording) Tools() (tools []json.RawMessage) {
	known := map[string]bool{}
	for _, row := range rec.Rows {
		if row.Method != "tools/list" {
			continue
		}
		x, err := row.Exchange()
		if err != nil || x == nil {
			continue
		}
		items, _ := wire.ParseMessage(x.Response.Raw).ResultItems("tools")
		for _, item := range items {
			if name := conv.TextInside(item, "name"); !known[name] {
				known[name] = true
				tools = append(tools, item)
			}
		}
	}
	return tools
}

// Server returns the server of a row: as its recording's head names it, or the URL of its connection.
func Server(row *rows.Row) string { return cmp.Or(row.Head().Target, row.Target) }
