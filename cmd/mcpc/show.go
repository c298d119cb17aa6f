package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/render"
	"mcpc/internal/trace"
	"mcpc/internal/wire"
)

// showOptions are what `mcpc show` was asked.
type showOptions struct {
	word    string
	raw     bool
	headers bool
}

func newShow(a *app) *cobra.Command {
	var o showOptions
	cmd := &cobra.Command{
		Use:   "show [NUMBER | last | FILE#NUMBER]",
		Short: "show one recorded exchange",
		Long: `Show a recorded exchange: its outcome, header fields and messages, events and
timing. The default is the last one.

A NUMBER is from mcpc log: 42 is the main exchange of run 42, 42.3 its third
exchange.`,
		Example: `  mcpc show
  mcpc show last --explain
  mcpc show --json --jq .response.result`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return hintedError{"show takes one number", "mcpc log lists them"}
			}
			o.word = strings.Join(args, "")
			a.showRow(cmd.Context(), o)
			return nil
		},
	}
	f := cmd.Flags()
	a.addCut(f)
	f.BoolVar(&o.raw, "raw", false, "print the messages' raw bytes only")
	f.BoolVar(&o.headers, "headers", false, "show header fields without bodies")
	return cmd
}

// showRow shows one exchange in the form that was asked for.
func (a *app) showRow(ctx context.Context, o showOptions) {
	c, row, out := a.pickRow(o.word)
	if !out.Good() {
		a.end(out)
		return
	}
	defer c.Close()
	a.warnOf(c)
	a.hideIn(c)
	exchange, err := row.Exchange()
	if err != nil {
		a.end(localIO("reading "+row.Path(), err))
		return
	}
	switch {
	case a.explain && exchange != nil:
		render.Explain(a.stdout(), a.outStyle, []*wire.Exchange{exchange})
	case o.raw:
		a.showBytes(row)
	default:
		ans := answer{result: exchangeJSON(row, exchange)}
		ans.messages = []*wire.Message{{Raw: ans.result}}
		ans.human = func(w io.Writer, st render.Style) error {
			return render.ShowTraffic(w, st, render.Traffic{Title: titleOf(row), Facts: factsOf(row), Exchange: exchange,
				Findings: row.Findings, HeadsOnly: o.headers})
		}
		a.show(ctx, wire.Outcome{}, ans)
	}
}

// showBytes writes what crossed, each message on a line of its own, in the order in
// which it did. On a terminal what could steer it is made visible.
func (a *app) showBytes(row *trace.Row) {
	frames, err := row.Frames()
	if err != nil {
		a.end(localIO("reading "+row.Path(), err))
		return
	}
	for _, f := range frames {
		if f.Raw == nil {
			continue
		}
		line := f.Raw
		if a.outStyle.Terminal {
			line = []byte(a.outStyle.Block(string(line)))
		}
		if _, err := a.stdout().Write(append(line[:len(line):len(line)], '\n')); err != nil {
			return
		}
	}
}

func titleOf(row *trace.Row) string {
	title := strings.TrimSpace(or(row.Method, "(no traffic)") + " " + row.Name)
	return "#" + row.Number() + "  " + title + "  " + row.Channel
}

// factsOf is what is known of an exchange beside its bytes.
func factsOf(row *trace.Row) [][]string {
	ending := row.Channel
	if row.Exit >= 0 {
		ending += fmt.Sprintf(" (exit code %d)", row.Exit)
	}
	if row.Code != 0 {
		ending += fmt.Sprintf(", error %d", row.Code)
	}
	if row.Unended() {
		ending += "; the recording ends here (killed, or still running)"
	}
	status := ""
	if row.Status > 0 {
		status = fmt.Sprint(row.Status)
	}
	return [][]string{
		{"server", row.Target}, {"time", row.Time.Local().Format("2006-01-02 15:04:05.000")}, {"ending", ending}, {"said", row.Text},
		{"hint", row.Hint}, {"http status", status}, {"protocol", row.Revision},
		{"client", row.Client()}, {"server says", row.Server()}, {"took", tookOf(row)},
		{"bytes", fmt.Sprintf("%d sent, %d received", row.Sent, row.Received)}, {"retries", row.Remarks()},
		{"resent from", row.Again}, {"command", commandOf(row)},
	}
}

// commandOf is the command line that was recorded with a row.
func commandOf(row *trace.Row) string {
	if argv := row.Head().Argv; len(argv) > 0 {
		return commandLine(argv)
	}
	return ""
}

// exchangeJSON is one document: the row, the messages as JSON where they are, and
// every frame as it stands in the capture.
func exchangeJSON(row *trace.Row, x *wire.Exchange) json.RawMessage {
	frames, _ := row.Frames()
	lines := make([]json.RawMessage, len(frames))
	for i, f := range frames {
		lines[i] = json.RawMessage(trace.AppendFrame(nil, f))
	}
	out := struct {
		Exchange rowOut            `json:"exchange"`
		Findings []findingOut      `json:"findings,omitempty"`
		Request  json.RawMessage   `json:"request"`
		Response json.RawMessage   `json:"response"`
		Frames   []json.RawMessage `json:"frames"`
	}{Exchange: rowJSON(row), Frames: lines}
	for _, f := range row.Findings {
		out.Findings = append(out.Findings, findingOut{f.Rule, f.Level.String(), f.Where, f.Text})
	}
	if x != nil {
		out.Request, out.Response = asJSONValue(x.Request.Raw), asJSONValue(x.Response.Raw)
	}
	// Marshal would change the bytes of the messages: it escapes what HTML has a
	// meaning for.
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(out)
	return json.RawMessage(strings.TrimRight(b.String(), "\n"))
}

type findingOut struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Where string `json:"where,omitempty"`
	Text  string `json:"text"`
}

// asJSONValue is a message where it is JSON; null otherwise, and then the frames
// have its bytes.
func asJSONValue(raw []byte) json.RawMessage {
	if raw == nil || wire.Valid(raw) != nil {
		return nil
	}
	return raw
}
