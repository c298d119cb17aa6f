package share

import (
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"mcpc/internal/capture"
	"mcpc/internal/capture/bundle"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/render/traffic"
	"mcpc/internal/shellwords"
	"mcpc/internal/wire"
)

// What the page of a bundle shows, as JSON. An exchange has the words of mcpc show --json.

// A Page is that data but for the exchanges.
type Page struct {
	Manifest bundle.Manifest `json:"manifest"`
	Report   string          `json:"report"`
	Notes    string          `json:"notes,omitempty"`
	// Left says what the page does not show.
	Left string `json:"left,omitempty"`
	// Large is set where the archive behind the page is large.
	Large bool `json:"large,omitempty"`
	// Then come "exchanges", of which each is a pageExchange.
}

type pageExchange struct {
	Exchange any           `json:"exchange"`
	Was      string        `json:"was,omitempty"`
	Findings []pageFinding `json:"findings,omitempty"`
	Notes    string        `json:"notes,omitempty"`
	Request  *pageBody     `json:"request,omitempty"`
	Response *pageBody     `json:"response,omitempty"`
	// Frames are the others, in the order in which they crossed.
	Frames []pageFrame `json:"frames,omitempty"`
}

type pageFinding struct {
	Rule  string `json:"rule"`
	Level string `json:"level"`
	Text  string `json:"text"`
}

// A pageBody is a text of so many bytes. Cut is the command that shows all of it where it was
// cut.
type pageBody struct {
	Text  string `json:"text"`
	Bytes int    `json:"bytes"`
	Cut   string `json:"cut,omitempty"`
}

type pageFrame struct {
	Dir   string    `json:"dir"`
	Kind  string    `json:"kind"`
	Time  time.Time `json:"time"`
	Event string    `json:"event,omitempty"`
	ID    string    `json:"id,omitempty"`
	Note  string    `json:"note,omitempty"`
	Head  *pageHead `json:"head,omitempty"`
	Body  *pageBody `json:"body,omitempty"`
}

type pageHead struct {
	Line   string      `json:"line"`
	Fields [][2]string `json:"fields"`
}

const (
	// MostRows, mostPageBodies and mostPageBody bound the page: its exchanges, the bytes
	// of all their bodies, and those of one.
	MostRows       = 10_000
	mostPageBodies = 16 << 20
	mostPageBody   = 256 << 10
)

// A pager makes the page's data, as long as there is room for bodies.
type pager struct {
	facts func(*capture.Row) any
	room  int
}

// Of is the data with the exchanges of a capture, as JSON; facts gives those of one.
func (d Page) Of(c *capture.Capture, facts func(*capture.Row) any) ([]byte, error) {
	d.Report = d.Report[:jsonraw.RuneStart([]byte(d.Report), min(len(d.Report), mostReport))]
	p := pager{facts: facts, room: mostPageBodies}
	rows := c.Rows()
	if len(rows) > MostRows {
		d.Left = fmt.Sprintf("The first %d of %d exchanges are shown; mcpc log --file FILE lists all.", MostRows, len(rows))
		rows = rows[:MostRows]
	}
	begin, err := jsonraw.Marshal(d)
	if err != nil {
		return nil, err
	}
	out := append(begin[:len(begin)-1], `,"exchanges":[`...)
	for i, row := range rows {
		x, err := p.exchange(row)
		if err != nil {
			return nil, err
		}
		if i < len(d.Manifest.Was) {
			x.Was = d.Manifest.Was[i]
		}
		raw, err := jsonraw.Marshal(x)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, "]}"...), nil
}

// mostReport is how much of the report the page has, in bytes.
const mostReport = 1 << 20

func (p *pager) exchange(row *capture.Row) (x pageExchange, err error) {
	x = pageExchange{Exchange: p.facts(row), Notes: row.Remarks()}
	for _, f := range row.Findings {
		x.Findings = append(x.Findings, pageFinding{f.Rule, f.Level.String(), f.Text})
	}
	found, err := row.Exchange()
	if err != nil || found == nil {
		return x, err
	}
	x.Request, x.Response = p.body(row, found.Request), p.body(row, found.Response)
	others := slices.Concat(found.Heads, found.Between, found.Carriers, found.Beside)
	slices.SortStableFunc(others, func(a, b wire.Frame) int { return int(int64(a.Seq) - int64(b.Seq)) })
	for _, f := range others {
		x.Frames = append(x.Frames, p.frame(row, f))
	}
	return x, nil
}

func (p *pager) frame(row *capture.Row, f wire.Frame) pageFrame {
	out := pageFrame{Dir: f.Dir.String(), Kind: f.Kind.String(), Time: f.Time, Body: p.body(row, f)}
	if f.SSE != nil {
		if out.Event = f.SSE.Event; f.SSE.ID != nil {
			out.ID = *f.SSE.ID
		}
	}
	if f.Kind == wire.Closed {
		out.Note = traffic.ClosedText(term.Style{}, f)
	}
	if h := f.HTTP; h != nil {
		line := h.Method + " " + h.URL
		if f.Dir == wire.Received {
			line = fmt.Sprint(h.Status, " ", http.StatusText(h.Status))
		}
		out.Head = &pageHead{Line: line, Fields: [][2]string{}}
		for _, field := range h.Fields {
			out.Head.Fields = append(out.Head.Fields, [2]string{field.Name, field.Value})
		}
	}
	return out
}

// body is what of a frame's bytes the page has; nil where there are none.
func (p *pager) body(row *capture.Row, f wire.Frame) *pageBody {
	if f.Raw == nil {
		return nil
	}
	b := &pageBody{Text: string(f.Raw), Bytes: f.Bytes()}
	if !utf8.Valid(f.Raw) {
		b.Text = fmt.Sprintf("%q", f.Raw[:min(len(f.Raw), mostPageBody/4)])
	}
	most := min(mostPageBody, p.room)
	if len(b.Text) > most || !utf8.Valid(f.Raw) && len(f.Raw) > mostPageBody/4 {
		b.Text = b.Text[:jsonraw.RuneStart([]byte(b.Text), min(most, len(b.Text)))]
		b.Cut = "mcpc show " + shellwords.Quote("FILE#"+row.Number()) + " --raw"
	}
	p.room -= len(b.Text)
	return b
}
