package share

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"mcpc/internal/capture/har"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/mcp"
	"mcpc/internal/render/traffic"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// WithMessages returns the rows with at least one message.
func WithMessages(all []*rows.Row) []*rows.Row {
	return slices.DeleteFunc(slices.Clone(all), func(row *rows.Row) bool { return row.Kinds == 0 })
}

// WriteAs writes exchanges of a capture in a format other than bundle. It returns an error for an
// unknown format.
func WriteAs(f *cmdutil.Factory, format string, w io.Writer, c *rows.Capture, all []*rows.Row) error {
	switch format {
	case "har":
		return har.Write(w, f.Version, all)
	case "jsonl":
		return c.Copy(w, all)
	case "mcpc-yaml":
		return exportSaved(f, w, c, all)
	case "markdown":
		return writeReports(f, w, c, all)
	case "mock-script":
		return writeMockScript(w, all, recorded.ServerNameOf)
	case "curl":
		return writeCommands(f, w, c, all, &traffic.Script{}, recorded.AddCurl)
	case "mcpc":
		script := &traffic.Script{}
		withoutHandshakes := slices.DeleteFunc(slices.Clone(all), func(row *rows.Row) bool {
			return mcp.IsOpening(row.Method)
		})
		hasHandshakes := len(withoutHandshakes) < len(all)
		if hasHandshakes && len(withoutHandshakes) > 0 {
			all = withoutHandshakes
			script.Comment("handshakes are omitted: each command does its own handshake")
			script.Space()
		}
		return writeCommands(f, w, c, all, script, recorded.AddMcpcCommand)
	}
	return fmt.Errorf("unknown format %q", format)
}

// writeCommands writes a script with the commands that add makes of the exchanges. It writes a comment
// for an exchange without a command, or returns the error if it is the only exchange.
func writeCommands(f *cmdutil.Factory, w io.Writer, c *rows.Capture, rows []*rows.Row, script *traffic.Script,
	add func(*traffic.Script, recorded.Request) error,
) error {
	for i, row := range rows {
		if i > 0 {
			script.Space()
		}
		exchange, err := row.Exchange()
		if err == nil && exchange != nil { // nil: nothing was sent
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

// Failed returns the outcome for an exchange that could not be exported.
func Failed(err error) wire.Outcome {
	if failed, ok := errors.AsType[*traffic.ScriptError](err); ok {
		return usage.Outcome(
			usage.New("not exported: "+failed.Text, "--as har, --as jsonl and --as markdown contain the whole exchange"),
		)
	}
	return usage.LocalIO("exporting", usage.Bare(err))
}

// writeReports writes an issue report about each exchange, with an empty line between two reports.
// It stops at the first exchange that cannot be read.
func writeReports(f *cmdutil.Factory, w io.Writer, c *rows.Capture, rows []*rows.Row) error {
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
		// The facts are pairs of a name and a value.
		facts := [][]string{{"recorded by", "mcpc " + row.Head().Mcpc}, {"reported by", "mcpc " + f.Version}}
		if server := recorded.ServerName(c, row); server != "" {
			facts = append(facts, []string{"server version", server})
		}
		report := traffic.IssueReport{
			View: traffic.View{
				Title: recorded.Title(row), Exchange: exchange, Findings: row.Findings,
				Facts: append(facts, recorded.Facts(row, f.Now())...),
			},
		}
		if exchange != nil {
			var script traffic.Script
			request := recorded.Request{Row: row, Exchange: exchange, Capture: c, Version: f.Version}
			err := recorded.AddMcpcCommand(&script, request)
			if err == nil { // an exchange without a command is reported without it
				report.Reproduce = script.String()
			}
		}
		if err := traffic.WriteIssueReport(w, report); err != nil {
			return err
		}
	}
	return nil
}
