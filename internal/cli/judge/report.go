package judge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/clients"
	"mcpc/internal/cli/clienttable"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A report is what clients did.
type report struct {
	Clients []*clients.Client `json:"clients"`
	// Runs are the runs of the client; without a command, one for each revision that clients used.
	Runs []run `json:"runs"`
}

// A run is what a client did with one server.
type run struct {
	Revision string `json:"revision"`
	// Outcome is how the client ended; "" if mcpc has not started it.
	Outcome string `json:"outcome,omitempty"`
	// Calls counts the tool calls. NotCalled are the tools that were not called, unless the run only
	// tries the revision.
	Calls     int      `json:"calls"`
	NotCalled []string `json:"notCalled,omitempty"`
	// Output is the end of what a client printed that did not end by itself, or with a failure.
	Output string `json:"output,omitempty"`

	// began and ended are the times of the requests that belong to the run.
	began, ended time.Time
}

// replaceUnseen sets the value of facts that nothing answers.
func (r *report) replaceUnseen() {
	for _, c := range r.Clients {
		for i := range c.Facts {
			if !c.Facts[i].IsSeen() {
				c.Facts[i].Value = clients.NotTried
			}
		}
	}
}

// show prints the report, or writes it to the file of -o in the format of its name.
func (r *report) show(ctx context.Context, f *cmdutil.Factory, o wire.Outcome) error {
	redact.Within(&f.Secrets, r)
	format := strings.ToLower(filepath.Ext(f.Output))
	var page []byte
	switch {
	case f.JSON || f.Jq != "":
	case format == ".html":
		page = clienttable.Page(r.Clients)
	case format == ".md":
		page = r.markdown()
	}
	if page != nil {
		if err := cmdutil.ReplaceFile(f.Output, page); err != nil {
			return cmdutil.Exit(usage.LocalIO("writing "+f.Output, usage.Bare(err)))
		}
		return cmdutil.Exit(o)
	}
	r.Clients = append([]*clients.Client{}, r.Clients...) // not null
	r.Runs = append([]run{}, r.Runs...)
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return cmdutil.Show(ctx, f, o, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		_, err := w.Write(append(clienttable.Text(st, r.Clients), r.runLines(st)...))
		return err
	}))
}

// runLines returns a line for each run, and the output of clients that failed.
func (r *report) runLines(st term.Style) []byte {
	var b bytes.Buffer
	for i, run := range r.Runs {
		if i == 0 && len(r.Clients) > 0 {
			b.WriteString("\n")
		}
		b.WriteString(st.WrapLine(run.line()) + "\n")
		for line := range strings.Lines(run.Output) {
			b.WriteString("    " + st.Cut(st.Line(strings.TrimRight(line, "\r\n")), st.Columns()-4) + "\n")
		}
	}
	return b.Bytes()
}

// line describes the run.
func (r *run) line() string {
	text := "server of revision " + r.Revision + ": "
	if r.Outcome != "" {
		text += r.Outcome + ", "
	}
	text += fmt.Sprintf("%d tool calls", r.Calls)
	if r.Calls > 0 && len(r.NotCalled) > 0 { // else it called none
		text += "; not called: " + strings.Join(r.NotCalled, ", ")
	}
	return text
}

// markdown returns the report as Markdown.
func (r *report) markdown() []byte {
	b := bytes.NewBuffer(clienttable.Markdown(r.Clients))
	for i, run := range r.Runs {
		if i == 0 {
			b.WriteString("\n## Runs\n\n")
		}
		b.WriteString("- " + sanitize.Markdown(run.line()) + "\n")
	}
	return b.Bytes()
}

// failures returns the required facts that clients do not have, with their exchanges.
func (r *report) failures(required []string) []string {
	var failed []string
	if len(required) > 0 && len(r.Clients) == 0 {
		failed = append(failed, "no client sent a request")
	}
	for _, c := range r.Clients {
		for _, f := range c.Facts {
			if slices.Contains(required, f.Name) && f.IsBad() {
				failed = append(failed, f.Name+" "+strings.Join(append([]string{f.Value}, f.Exchanges...), " "))
			}
		}
	}
	return failed
}

// showMatrix shows the clients of all reports in a folder.
func showMatrix(ctx context.Context, f *cmdutil.Factory, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("reading "+folder, usage.Bare(err)))
	}
	var all report
	for _, entry := range entries {
		if entry.IsDir() || filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		path := filepath.Join(folder, entry.Name())
		one, err := readReport(path)
		if err != nil {
			f.Warn(path + " is left out: " + err.Error())
			continue
		}
		all.Clients = append(all.Clients, one.Clients...)
	}
	if len(all.Clients) == 0 {
		return usage.New(folder+" has no reports of clients", wire.Run("judge --json -o "+folder+"/NAME.json -- CLIENT..."))
	}
	slices.SortStableFunc(all.Clients, func(a, b *clients.Client) int { return strings.Compare(a.Name, b.Name) })
	return all.show(ctx, f, wire.Outcome{})
}

// maxReport limits the bytes of a report that is read.
const maxReport = 16 << 20

// readReport reads the JSON of mcpc judge or mcpc log --clients.
func readReport(path string) (*report, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, usage.Bare(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxReport))
	if err != nil {
		return nil, usage.Bare(err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, errors.New("not a report of mcpc judge or mcpc log --clients")
	}
	if slices.Contains(r.Clients, nil) {
		return nil, errors.New("not a report: a client is null")
	}
	return &r, nil
}
