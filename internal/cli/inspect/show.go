package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mcpc/internal/cli/liveview"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live/view"
	"mcpc/internal/render/term"
)

// A showResult is the result of the tool show: an exchange, or a piece of one part.
type showResult struct {
	Row      *view.Row      `json:"row,omitempty"`
	Facts    [][2]string    `json:"facts,omitempty"`
	Why      string         `json:"why,omitempty"`
	Cut      string         `json:"cut,omitempty"`
	Group    string         `json:"group,omitempty"`
	Lines    []view.Line    `json:"lines,omitempty"`
	Request  *piece         `json:"request,omitempty"`
	Response *piece         `json:"response,omitempty"`
	Frames   *piece         `json:"frames,omitempty"`
	Findings []view.Finding `json:"findings,omitempty"`
	Wrong    []view.Wrong   `json:"wrong,omitempty"`
	Before   string         `json:"before,omitempty"`
	Stderr   []string       `json:"stderr,omitempty"`
}

// A piece is a part of a text of Bytes bytes. From is its offset, and Next the offset of the next
// piece, or 0 after the last piece.
type piece struct {
	Text  string `json:"text"`
	From  int    `json:"from,omitempty"`
	Bytes int    `json:"bytes"`
	Next  int    `json:"next,omitempty"`
}

const (
	// maxPiece limits the bytes of a piece. JSON may need two bytes for one, as for a quotation mark.
	maxPiece = maxText / 2
	// briefBody limits the bytes of each body in a summary.
	briefBody = 3 << 10
	// briefLines limits the lines in a summary.
	briefLines = 40
	// maxFindings limits the findings and the wrong arguments in a summary.
	maxFindings = 10
)

// pieceOf returns at most limit bytes of a text from an offset on. It never cuts a character: both
// ends move back to the start of one.
func pieceOf(text string, offset, limit int) *piece {
	start := jsonraw.RuneStart([]byte(text), min(offset, len(text)))
	end := jsonraw.RuneStart([]byte(text), min(start+limit, len(text)))
	p := &piece{Text: text[start:end], From: start, Bytes: len(text)}
	if end < len(text) {
		p.Next = end
	}
	return p
}

// show answers a call of the tool named show. It returns the result as text and as JSON.
func (a *tools) show(ctx context.Context, q toolArguments) (string, json.RawMessage, error) {
	if err := a.checkFilter(ctx, q.Key); err != nil {
		return "", nil, err
	}
	d, err := a.reader.Detail(ctx, q.Key)
	if errors.Is(err, view.ErrGone) && a.reader.Status().Loading {
		err = errors.New("no exchange has this key so far, and the recordings are still being read; ask again")
	}
	if err != nil {
		return "", nil, err
	}
	var out showResult
	switch q.Part {
	case "request":
		out.Request, err = a.readBody(ctx, q, d.Request)
	case "response":
		out.Response, err = a.readBody(ctx, q, d.Response)
	case "frames":
		var frames json.RawMessage
		frames, err = jsonraw.Marshal(d.Frames)
		out.Frames = pieceOf(string(frames), q.From, min(q.Count, maxPiece))
	default:
		out, err = a.summary(d)
	}
	if err != nil {
		return "", nil, err
	}
	raw, err := safeJSON(out)
	return out.text(), raw, err
}

// checkFilter returns nil if the row with a key matches the filter of the command line. Otherwise
// it returns errOutsideFilter, or errUnsearched if that is not known yet.
func (a *tools) checkFilter(ctx context.Context, key string) error {
	if a.filter == "" {
		return nil
	}
	found, err := view.Searched(ctx, a.reader, view.Query{Filter: a.filter, Only: []string{key}, Count: 1})
	if err != nil {
		return err
	}
	if found.Total > 0 {
		return nil
	}
	if found.Pending > 0 {
		return errUnsearched
	}
	return errOutsideFilter
}

var (
	// errUnsearched is returned if the search has not reached the exchange yet.
	errUnsearched = errors.New("the exchange is not searched yet; ask again")
	// errOutsideFilter is returned if the exchange does not match the filter of the command line.
	errOutsideFilter = fmt.Errorf("%w within the filter of the command line", view.ErrGone)
)

// readBody returns the piece of a body that q selects; an empty one if b is nil, as for a response
// that did not come.
func (a *tools) readBody(ctx context.Context, q toolArguments, b *view.Body) (*piece, error) {
	if b == nil {
		return &piece{}, nil
	}
	raw, err := a.reader.Body(ctx, q.Key, b.Frame)
	if err != nil {
		return nil, err
	}
	return pieceOf(strings.ToValidUTF8(string(raw), "\uFFFD"), q.From, min(q.Count, maxPiece)), nil
}

// summary returns the summary of an exchange: shortened lists and texts, and the beginnings of its bodies.
func (a *tools) summary(d view.Detail) (showResult, error) {
	beginning := func(b *view.Body) *piece {
		if b == nil {
			return nil
		}
		p := pieceOf(b.Text, 0, briefBody)
		p.Bytes = b.Bytes // b.Text may itself be cut
		if len(p.Text) < b.Bytes {
			p.Next = len(p.Text)
		}
		return p
	}
	out := showResult{
		Row:      &d.Row,
		Why:      d.Why,
		Cut:      d.Cut,
		Group:    d.Group,
		Lines:    d.Lines[:min(len(d.Lines), briefLines)],
		Findings: d.Findings[:min(len(d.Findings), maxFindings)],
		Wrong:    d.Wrong[:min(len(d.Wrong), maxFindings)],
		Before:   d.Before,
		Stderr:   d.Stderr[max(0, len(d.Stderr)-10):], // the last lines, which often have the reason
	}
	for _, fact := range d.Facts {
		if fact[1] != "" {
			out.Facts = append(out.Facts, fact)
		}
	}
	// Shorten all long texts, except the bodies, which are added afterwards.
	raw, err := jsonraw.Marshal(out)
	if err == nil {
		out = showResult{}
		err = json.Unmarshal(shortenTexts(raw), &out)
	}
	out.Request = beginning(d.Request)
	out.Response = beginning(d.Response)
	return out, err
}

// text returns the result as text for a model: a line for each fact, followed by the pieces of the bodies.
func (s showResult) text() string {
	var b strings.Builder
	writeLine := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	if s.Row != nil {
		writeLine("%s", liveview.RowLine(*s.Row))
	}
	for _, line := range []string{s.Why, s.Cut, s.Group} {
		if line != "" {
			writeLine("%s", term.Line(line))
		}
	}
	for _, fact := range s.Facts {
		writeLine("%s: %s", term.Line(fact[0]), term.Line(fact[1]))
	}
	for _, l := range s.Lines {
		writeLine("  %s %-8s %s %s", l.Time.Format("15:04:05.000"), l.Dir, l.Kind, term.Line(l.Text))
	}
	for _, w := range s.Wrong {
		writeLine("wrong argument %s: %s", term.Line(w.Pointer), term.Line(w.Text))
	}
	for _, f := range s.Findings {
		writeLine("%s", term.Line(strings.Join([]string{f.Severity, f.Rule + ":", f.Text, f.Fix}, " ")))
	}
	for _, line := range s.Stderr {
		writeLine("stderr: %s", term.Line(line))
	}
	if s.Before != "" {
		writeLine("the same was asked before in %s", term.Line(s.Before))
	}
	for _, part := range []struct {
		name string
		*piece
	}{{"request", s.Request}, {"response", s.Response}, {"frames", s.Frames}} {
		if part.piece == nil {
			continue
		}
		writeLine("%s (%d bytes):\n%s", part.name, part.Bytes, term.Block(part.Text))
		if part.Next > 0 {
			writeLine("… cut; part:%s from:%d continues", part.name, part.Next)
		}
	}
	return b.String()
}

// awaitLoaded waits until the recordings that existed at the start are read, or ctx ends.
func (a *tools) awaitLoaded(ctx context.Context) {
	for s := a.reader.Status(); s.Loading && ctx.Err() == nil; s = a.reader.Status() {
		a.reader.Wait(ctx, s.Seq)
	}
}
