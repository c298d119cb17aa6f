package share

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/capture"
	"mcpc/internal/capture/har"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/render/traffic"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// Crossing are the rows of which something crossed: others are kept for their
// ending alone.
func Crossing(rows []*capture.Row) []*capture.Row {
	return slices.DeleteFunc(slices.Clone(rows), func(row *capture.Row) bool { return row.Kinds == 0 })
}

// As writes exchanges of a capture in a format, but no bundle. A format that it does not know
// is an error.
func As(f *cmdutil.Factory, format string, w io.Writer, c *capture.Capture, rows []*capture.Row) error {
	switch format {
	case "har":
		return har.Write(w, f.Version, rows)
	case "jsonl":
		return c.Copy(w, rows)
	case "mcpc-yaml":
		return exportSaved(f, w, c, rows)
	case "markdown":
		return reports(f, w, c, rows)
	case "mock-script":
		return writeMockScript(w, rows, recorded.ServerInfoIn)
	case "curl":
		return commands(f, w, c, rows, &traffic.Script{}, recorded.AddCurl)
	case "mcpc":
		script := &traffic.Script{}
		some := slices.DeleteFunc(slices.Clone(rows), func(row *capture.Row) bool {
			return slices.Contains(recorded.OpeningMethods, row.Method)
		})
		if len(some) > 0 && len(some) < len(rows) {
			rows = some
			script.Comment("handshakes are omitted: each command does its own handshake")
			script.Space()
		}
		return commands(f, w, c, rows, script, recorded.AddLine)
	}
	return fmt.Errorf("unknown format %q", format)
}

// commands writes a script that sends the requests of exchanges. An exchange that has no
// command is a comment, or the error if it is the only one.
func commands(f *cmdutil.Factory, w io.Writer, c *capture.Capture, rows []*capture.Row, script *traffic.Script,
	add func(*traffic.Script, recorded.Request) error) error {
	for i, row := range rows {
		if i > 0 {
			script.Space()
		}
		exchange, err := row.Exchange()
		if err == nil && exchange != nil {
			script.Comment(row.Number() + ": " + strings.TrimSpace(row.Method+" "+row.Name) + " (" + row.Channel + ")")
			err = add(script, recorded.Request{Row: row, Exchange: exchange, Capture: c, Version: f.Version})
		}
		if err != nil && len(rows) == 1 {
			return err
		}
		if err != nil {
			script.Comment("not written: " + err.Error())
		}
	}
	_, err := io.WriteString(w, script.String())
	return err
}

// Failed is the ending where an exchange could not be written.
func Failed(err error) wire.Outcome {
	if failed, ok := errors.AsType[*traffic.ScriptError](err); ok {
		return usage.Outcome(usage.New("not exported: "+failed.Text, "--as har, --as jsonl and --as markdown contain the whole exchange"))
	}
	return usage.LocalIO("exporting", usage.Bare(err))
}

// reports writes a report about each exchange.
func reports(f *cmdutil.Factory, w io.Writer, c *capture.Capture, rows []*capture.Row) error {
	for i, row := range rows {
		exchange, err := row.Exchange()
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := io.WriteString(w, "\n"); err != nil {
				return err
			}
		}
		facts := [][]string{{"recorded by", "mcpc " + row.Head().Mcpc}, {"reported by", "mcpc " + f.Version}}
		if server := recorded.ServerIn(c, row); server != "" {
			facts = append(facts, []string{"server version", server})
		}
		report := traffic.IssueReport{View: traffic.View{Title: recorded.Title(row), Exchange: exchange, Findings: row.Findings,
			Facts: append(facts, recorded.Facts(row, f.Now())...)}}
		if exchange != nil {
			var s traffic.Script
			if recorded.AddLine(&s, recorded.Request{Row: row, Exchange: exchange, Capture: c, Version: f.Version}) == nil {
				report.Reproduce = s.String()
			}
		}
		if err := traffic.WriteIssueReport(w, report); err != nil {
			return err
		}
	}
	return nil
}
