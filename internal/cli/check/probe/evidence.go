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

// spotOf returns the frame of a finding's evidence.
func spotOf(e lint.Evidence) conv.Spot { return conv.Spot{Conn: e.Conn, Seq: e.Seq} }

// A Recording has the recorded rows that findings refer to.
type Recording struct {
	Rows []*rows.Row
	// Base is the index, in its capture, of the first run of the rows.
	Base int
	// Repeat returns the command that sends the request of the evidence again. words is the result
	// of repeatWordsOf for the row. It may be nil.
	Repeat func(spot conv.Spot, words string) string
	// Revision returns the revision that a probe was judged by, or "" if no probe has the evidence.
	// It may be nil.
	Revision func(spot conv.Spot) string
	// Step returns the step of a *.mcpc.yaml that sends the request of the evidence again, or "". It may
	// be nil.
	Step func(spot conv.Spot) string
	// Several is set if the rows are of several servers: each finding then names its server.
	Several bool
}

// Fill writes the judgements and findings of the linter into a report.
func (rec Recording) Fill(r *verdict.Report, report lint.Report) {
	for _, j := range report.Judgements {
		word := string(j.Verdict)
		if j.Verdict == lint.Fail {
			word = string(conv.Error)
		}
		r.Rules = append(r.Rules, verdict.Rule{
			ID: j.ID, Verdict: word, Why: j.Why, Severity: string(j.Rule.Severity),
			Title: j.Rule.Title, Source: j.Rule.Page(j.Rule.To), Fix: j.Rule.Fix, Tags: j.Rule.Tags,
		})
	}
	rowAt := rec.locate(report.Findings)
	repeatWords := map[*rows.Row]string{nil: ""} // many findings may have the same row: it is read once
	for _, f := range report.Findings {
		finding := recorded.VerdictFinding(f)
		for i, e := range f.Evidence {
			spot := spotOf(e)
			row := rowAt[spot]
			if row != nil {
				finding.Evidence[i].Exchange = exchangeName(row)
				if rec.Several && finding.Server == "" {
					finding.Server = Server(row)
				}
			}
			revision := rec.revisionOf(f, spot, row)
			if slices.Contains(client.Revisions(), revision) && !slices.Contains(finding.Revisions, revision) {
				finding.Revisions = append(finding.Revisions, revision)
			}
			if i == 0 && rec.Repeat != nil {
				if _, isKnown := repeatWords[row]; !isKnown {
					repeatWords[row] = repeatWordsOf(row)
				}
				finding.Repeat = rec.Repeat(spot, repeatWords[row])
			}
			if i == 0 && rec.Step != nil {
				finding.Step = rec.Step(spot)
			}
		}
		r.Findings = append(r.Findings, finding)
	}
}

// exchangeName returns the name of a row for the user; a recording outside of the ring has a path.
func exchangeName(row *rows.Row) string {
	if row.Run == 0 {
		return row.Path() + "#" + row.Number()
	}
	return row.Number()
}

// revisionOf returns the revision that a finding was judged by: as the finding states it, as the
// probe at the spot states it, or else the revision of the row. row may be nil.
func (rec Recording) revisionOf(f lint.Finding, spot conv.Spot, row *rows.Row) string {
	if f.Revision != "" {
		return f.Revision
	}
	if rec.Revision != nil {
		if revision := rec.Revision(spot); revision != "" {
			return revision
		}
	}
	if row != nil {
		return row.Revision
	}
	return ""
}

// locate returns the rows of the evidence. It reads the recording until all are found.
func (rec Recording) locate(findings []lint.Finding) map[conv.Spot]*rows.Row {
	missing := map[conv.Spot]bool{}
	found := map[conv.Spot]*rows.Row{}
	for _, f := range findings {
		for _, e := range f.Evidence {
			missing[spotOf(e)] = true
		}
	}
	for _, row := range rec.Rows {
		if len(missing) == 0 {
			break
		}
		_ = row.EachFrame(func(f wire.Frame) error {
			spot := conv.Spot{Conn: recorded.CombineConn(row.RunIndex()-rec.Base, f.Conn), Seq: f.Seq}
			if missing[spot] {
				delete(missing, spot)
				found[spot] = row
			}
			return nil
		})
	}
	return found
}

// openOwnRecording opens the recording that this command has made so far, and returns its name for
// the user and the number of its run, 0 for a file. The capture is nil if there is no recording or it
// cannot be read.
func openOwnRecording(f *cmdutil.Factory) (c *rows.Capture, name string, number int) {
	rec := &f.Record
	path := f.RecordTo
	if rec.Recorder == nil {
		return nil, "", 0
	}
	rec.Flush()
	name = path
	if path == "" {
		run, err := rec.Ring.Find(rec.Run())
		if err != nil {
			return nil, "", 0
		}
		path = run.Path
		number = run.Number
		name = fmt.Sprintf("run %d", number)
	}
	c, err := rows.Open(path)
	if err != nil {
		return nil, name, number
	}
	return c, name, number
}

// repeatWordsOf returns the words of the mcpc command that sends the request of a row again, or ""
// if no command does. It reads the exchange.
func repeatWordsOf(row *rows.Row) string {
	isRequest := row.Method != "" && !strings.HasPrefix(row.Method, "(") // such as "(stream)"
	if !isRequest || rows.IsByServer(row) {
		return ""
	}
	words := "raw " + shellwords.Quote(row.Method)
	if x, err := row.Exchange(); err == nil && x != nil {
		// The command adds the members that every client puts in _meta.
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

// Hosts returns the matrix of tools and hosts: what each host does with each tool. It is nil
// without tools.
func Hosts(tools []json.RawMessage) *verdict.Hosts {
	if len(tools) == 0 {
		return nil
	}
	matrix := &verdict.Hosts{}
	for _, h := range hosts.All() {
		matrix.Hosts = append(matrix.Hosts, verdict.Host{ID: h.ID, Title: h.Title, Date: h.Date, Source: h.Source})
	}
	plain := sliceutil.Map(tools, func(tool json.RawMessage) json.RawMessage {
		return redact.WithWords(tool) // a host may accept the name that was hidden
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
		matrix.Tools = append(matrix.Tools, tool)
	}
	return matrix
}

// Tools returns the tools in the recorded lists, the first of each name.
func (rec Recording) Tools() []json.RawMessage {
	known := map[string]bool{}
	var tools []json.RawMessage
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

// Server returns the server of a row: the name in the head of its recording, or the URL of its
// connection.
func Server(row *rows.Row) string { return cmp.Or(row.Head().Target, row.Target) }
