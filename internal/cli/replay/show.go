package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"time"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/match"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/wire"
)

// The limits of the output: the differences of one exchange, the differences in reports, and
// the bytes of a value.
const (
	maxDifferences = 20
	maxReported    = 10_000
	maxValue       = 400
)

// A row is an item for output, without secrets.
type row struct {
	Number      string       `json:"exchange"`
	Verdict     string       `json:"verdict"`
	Why         string       `json:"why,omitempty"`
	Method      string       `json:"method"`
	Name        string       `json:"name,omitempty"`
	Was         float64      `json:"wasMs"`
	Is          float64      `json:"isMs,omitempty"`
	Differences []difference `json:"differences,omitempty"`
	// More is the number of differences that are not listed.
	More   int          `json:"more,omitempty"`
	Counts match.Counts `json:"passed,omitempty"`
}

// A difference has its values as JSON texts, shortened if they are long.
type difference struct {
	Path    string `json:"path"`
	Pointer string `json:"pointer"`
	How     string `json:"how"`
	Was     string `json:"was,omitempty"`
	Is      string `json:"is,omitempty"`
}

// A reporter collects and writes the outcome of each request.
type reporter struct {
	factory   *cmdutil.Factory
	options   options
	selection *selection
	// out receives the lines for people; it is nil if there are none.
	out        io.Writer
	outputText *bytes.Buffer // written to the file of -o; nil without it
	// keepsRows is set if a report needs the rows. differenceCount is the number of their
	// differences.
	keepsRows       bool
	rows            []row
	differenceCount int

	counts   map[Verdict]int
	accepted match.Counts
	skipped  map[string]int
	target   string
	// rules say what may differ; metRules are the rules that matched a value.
	rules    *match.Rules
	metRules map[*match.Rule]bool
}

// newReporter returns a reporter for the options. The lines for people go to standard output or the
// file of -o; to standard error if a report is on standard output; and nowhere with JSON.
func newReporter(f *cmdutil.Factory, o options, s *selection, rules *match.Rules) *reporter {
	w := &reporter{
		factory:   f,
		options:   o,
		selection: s,
		counts:    map[Verdict]int{},
		accepted:  match.Counts{},
		skipped:   map[string]int{},
		rules:     rules,
		metRules:  map[*match.Rule]bool{},
	}
	document := f.PrintsJSON()
	w.keepsRows = document || o.reports != (reports{})
	switch {
	case o.reports.files().OnStdout() != nil:
		w.out = f.Stderr()
	case document:
	case f.Output != "":
		w.outputText = &bytes.Buffer{}
		w.out = w.outputText
	default:
		w.out = f.Stdout()
	}
	return w
}

// addItem counts one item, writes its line for people if there are any, and keeps its row if a report
// needs it. Once the kept rows have maxReported differences, it keeps further rows without theirs.
func (w *reporter) addItem(it item) {
	w.counts[it.Verdict]++
	w.accepted.Add(it.Counts)
	maps.Copy(w.metRules, it.Met)
	if it.Verdict == Skipped {
		w.skipped[it.Why]++
	}
	r := rowOf(it)
	redact.Within(&w.factory.Secrets, &r)
	if w.out != nil && r.Why != interrupted && r.Why != unreached { // not a line for each request after Ctrl-C
		w.writeRow(r)
	}
	if !w.keepsRows {
		return
	}
	w.differenceCount += len(r.Differences)
	if w.differenceCount > maxReported {
		r.More += len(r.Differences)
		r.Differences = nil
	}
	w.rows = append(w.rows, r)
}

// rowOf returns an item for output.
func rowOf(it item) row {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	r := row{
		Number:  it.row.Number(),
		Verdict: string(it.Verdict),
		Why:     it.Why,
		Method:  it.row.Method,
		Name:    it.row.Name,
		Was:     ms(it.row.Duration),
		Is:      ms(it.took),
		More:    it.More,
	}
	for kind, n := range it.Counts {
		if n > 0 && kind != match.Protocol { // members of the protocol are not of the answer
			if r.Counts == nil {
				r.Counts = match.Counts{}
			}
			r.Counts[kind] = n
		}
	}
	for i, d := range it.Differences {
		if i == maxDifferences {
			r.More += len(it.Differences) - i
			break
		}
		r.Differences = append(r.Differences,
			difference{Path: d.Path, Pointer: d.Pointer, How: string(d.How), Was: excerpt(d.Was), Is: excerpt(d.Is)})
	}
	return r
}

// excerpt returns a value as text, "" for nil.
func excerpt(raw json.RawMessage) string {
	if raw == nil {
		return ""
	}
	return jsonraw.Excerpt(jsonraw.Compact(raw), maxValue)
}

// colours are the colours of the verdicts.
var colours = map[string]string{
	string(Same):      term.Green,
	string(Differs):   term.Red,
	string(Worse):     term.Red,
	string(Missing):   term.Red,
	string(Unmatched): term.Red,
	string(Better):    term.Green,
	string(New):       term.Green,
	string(Skipped):   term.Dim,
	string(NotRun):    term.Yellow,
}

// writeRow writes the line of one exchange and the table of its differences.
func (w *reporter) writeRow(r row) {
	st := w.factory.OutStyle
	if w.out == w.factory.Stderr() {
		st = w.factory.ErrStyle
	}
	w.factory.Progress.Done()
	cells := []string{r.Number, r.Verdict, strings.TrimSpace(r.Method + " " + r.Name), r.durationText(), r.Why}
	for i := range cells {
		cells[i] = term.Line(cells[i])
	}
	var b bytes.Buffer
	if !st.Terminal {
		b.WriteString(strings.TrimRight(strings.Join(cells, "\t"), "\t") + "\n")
	} else {
		columns := []string{
			term.Pad(cells[0], 6),
			st.Paint(colours[r.Verdict], term.Pad(cells[1], 9)),
			term.Pad(cells[2], 34),
			term.Pad(cells[3], 22),
			cells[4],
		}
		b.WriteString(strings.TrimRight(strings.Join(columns, term.Gap), " ") + "\n")
	}
	var table bytes.Buffer
	var rows [][]string
	for _, d := range r.Differences {
		rows = append(rows, []string{d.Path, orNothing(d.Was), orNothing(d.Is)})
	}
	if r.More > 0 {
		rows = append(rows, []string{fmt.Sprintf("and %d more", r.More), "", ""})
	}
	_ = term.Table(&table, st, []string{"path", "was", "is"}, rows)
	for line := range strings.Lines(table.String()) {
		b.WriteString("    " + line)
	}
	_, _ = w.out.Write(b.Bytes())
}

// durationText returns the present and the recorded time as text.
func (r row) durationText() string {
	if r.Is == 0 {
		return ""
	}
	format := func(ms float64) string { return term.Duration(time.Duration(ms * float64(time.Millisecond))) }
	return format(r.Is) + ", was " + format(r.Was)
}

// orNothing returns value, or "nothing" if it is empty.
func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	return value
}

// summary returns the last line: how many requests were replayed, how many have each verdict, and the
// accepted differences.
func (w *reporter) summary() string {
	var sent, unsent []string
	for _, v := range Verdicts {
		count := w.counts[v]
		if count == 0 {
			continue
		}
		word := string(v)
		if v == Differs && count != 1 {
			word = "differ"
		}
		part := fmt.Sprintf("%d %s", count, word)
		if v.IsSent() {
			sent = append(sent, part)
		} else {
			unsent = append(unsent, part)
		}
	}
	text := fmt.Sprintf("%d replayed", w.countSent())
	if len(sent) > 0 {
		text += ": " + strings.Join(sent, ", ")
	}
	if len(unsent) > 0 {
		text += "; " + strings.Join(unsent, ", ")
	}
	if passed := w.accepted.String(); passed != "" {
		text += "; " + passed
		if w.options.match.file != "" && w.accepted.Matched() > 0 {
			text += " (" + filepath.Base(w.options.match.file) + ")"
		}
	}
	return text
}

// maxUnmet limits the listed matchers that matched nothing.
const maxUnmet = 10

// writeNotes prints which options had no or only a partial effect. out is the outcome of the
// connection.
func (w *reporter) writeNotes(out wire.Outcome) {
	if out.OK() && w.counts[Same]+w.counts[Differs] > 0 && w.options.match.compare != string(Status) {
		unmet := w.options.unmetMatchers(w.rules, w.metRules)
		if n := len(unmet); n > maxUnmet {
			unmet = append(unmet[:maxUnmet], fmt.Sprintf("%d more", n-maxUnmet))
		}
		if len(unmet) > 0 {
			w.factory.Note("matched nothing: " + strings.Join(unmet, ", "))
		}
	}
	if n := w.counts[Skipped] + w.counts[NotRun]; n > 0 && w.options.update != "" {
		w.factory.Note(english.Plural(n, "exchange") + " not sent, and not in " + w.options.update)
	}
}

// countAll returns the number of exchanges.
func (w *reporter) countAll() int {
	n := 0
	for _, count := range w.counts {
		n += count
	}
	return n
}

// countSent returns the number of requests that were sent.
func (w *reporter) countSent() int { return w.countAll() - w.counts[Skipped] - w.counts[NotRun] }

// finish writes the notes, the summary and the reports, and returns the error for the exit code. out
// is the outcome of the connection.
func (w *reporter) finish(ctx context.Context, out wire.Outcome) error {
	w.factory.Progress.Done()
	for why, n := range w.skipped {
		if why == mayChange {
			w.factory.Note(english.Plural(n, "request") + " skipped because the tool may change something; --yes sends them")
		}
	}
	w.writeNotes(out)
	text := w.factory.Secrets.Text(w.summary())
	if w.out != nil && w.counts[NotRun] < w.countAll() {
		_, _ = io.WriteString(w.out, term.Line(text)+"\n")
	}
	files := w.reportFiles(out)
	// SARIF without findings would close alerts, which is wrong if the replay did not take place.
	if end := w.outcome(out); !end.OK() && end.Kind != wire.CheckFailed {
		files = files.WithholdSARIF(w.factory)
	}
	err := files.Write()
	stdout := files.OnStdout()
	switch {
	case stdout != nil:
		err = cmdutil.Join(err, stdout.Print(w.factory))
	case w.out == nil:
		err = cmdutil.Join(err, cmdutil.Print(ctx, w.factory, cmdutil.Document(w.document(text), nil)))
	case w.outputText != nil:
		err = cmdutil.Join(err, cmdutil.Print(ctx, w.factory, cmdutil.Answer{Human: func(to io.Writer, _ term.Style) error {
			_, err := to.Write(w.outputText.Bytes())
			return err
		}}))
	}
	return cmdutil.Join(w.factory.StdoutError(), err, cmdutil.Exit(w.outcome(out)))
}

// outcome returns the outcome of the command. out is the outcome of the connection; if it failed, that
// is the outcome. Otherwise the command fails if a verdict does, or if all requests were skipped.
func (w *reporter) outcome(out wire.Outcome) wire.Outcome {
	failed := 0
	for v, n := range w.counts {
		if v.Fails() {
			failed += n
		}
	}
	switch {
	case !out.OK():
		return out
	case failed > 0:
		out = wire.Outcome{
			Kind: wire.CheckFailed, Reached: wire.Answered, Phase: "result", IsSummary: true,
			Text: fmt.Sprintf("%d of %d answers are not as recorded", failed, w.countSent()),
		}
		if w.counts[Differs] > 0 && w.options.match.file == "" {
			out.Hint = "--learn 3 --write-match FILE proposes matchers for what differs each time"
		}
	case w.counts[Skipped] == w.countAll():
		text := "all recorded requests were skipped"
		out = wire.Outcome{Kind: wire.Refused, Phase: "arguments", Text: text, IsSummary: true}
		if w.skipped[mayChange] > 0 {
			out.Hint = "--yes also sends requests that may change something"
		}
	}
	return out
}

// document returns the report as one document.
func (w *reporter) document(summary string) json.RawMessage {
	rows := append([]row{}, w.rows...)
	raw, _ := jsonraw.Marshal(struct {
		Summary   string          `json:"summary"`
		Counts    map[Verdict]int `json:"counts"`
		Passed    match.Counts    `json:"passed"`
		Recording string          `json:"recording"`
		Exchanges []row           `json:"exchanges"`
	}{summary, w.counts, w.accepted, w.selection.capture.Path, rows})
	return raw
}
