package share

import (
	"io"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/english"
	"mcpc/internal/render/traffic"
	"mcpc/internal/yaml"
)

// exportSaved writes rows as a file for mcpc run. It omits the lists that a client requests to check
// its calls, unless the rows have nothing else. It returns a ScriptError if there is nothing to save.
func exportSaved(f *cmdutil.Factory, w io.Writer, c *rows.Capture, rows []*rows.Row) error {
	const keepLists = true
	s, err := savedSteps(f, c, rows, !keepLists)
	if err != nil {
		return err
	}
	hasOnlyLists := len(s.File.Steps)+len(s.WithoutOutcome) == 0 && s.Lists > 0
	if hasOnlyLists {
		s, err = savedSteps(f, c, rows, keepLists)
		if err != nil {
			return err
		}
	}
	if len(s.WithoutOutcome) > 0 {
		f.Warn("the file omits " + strings.Join(s.WithoutOutcome, ", ") + ": its outcome cannot be expected again")
	}
	if s.Omissions > 0 && len(s.File.Steps) > 0 {
		f.Note(english.Plural(s.Omissions, "exchange") + " omitted: " + strings.Join(s.Omitted, ", "))
	}
	if len(s.File.Steps) == 0 {
		return &traffic.ScriptError{Text: "nothing to save; omitted: " + strings.Join(s.Omitted, ", ")}
	}
	text, err := yaml.Write(s.File.JSON())
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, h := range s.Secrets {
		b.WriteString(traffic.VariableComment(h.Variable, h.Where, h.Shown))
	}
	b.Write(text)
	_, err = io.WriteString(w, b.String())
	return err
}

// savedSteps makes steps of rows, and counts the rows that are omitted. If keepLists is set, every
// list becomes a step.
func savedSteps(f *cmdutil.Factory, c *rows.Capture, rows []*rows.Row, keepLists bool) (*recorded.ExportSaver, error) {
	s := &recorded.ExportSaver{KeepLists: keepLists}
	for _, row := range rows {
		exchange, err := row.Exchange()
		if err != nil {
			return nil, err
		}
		if exchange == nil {
			s.Omit("not sent")
			continue
		}
		request := recorded.Request{Row: row, Exchange: exchange, Capture: c, Version: f.Version}
		if err := s.Add(request, len(rows) > 1); err != nil {
			return nil, err
		}
	}
	return s, nil
}
