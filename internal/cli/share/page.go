package share

import (
	"context"
	"fmt"
	"time"

	"mcpc/internal/capture"
	"mcpc/internal/capture/bundle"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

// A Page is what the page of a bundle shows, as JSON: documents of package view.
type Page struct {
	Title    string          `json:"title"`
	Manifest bundle.Manifest `json:"manifest"`
	Report   string          `json:"report"`
	Notes    string          `json:"notes,omitempty"`
	// Left says what the page does not show.
	Left          string                 `json:"left,omitempty"`
	Conversations []view.Conversation    `json:"conversations"`
	Rows          []view.Row             `json:"rows"`
	Blocks        map[string][]view.Line `json:"blocks"`
	Details       map[string]view.Detail `json:"details"`
	Tools         []view.Tool            `json:"tools"`
	Streams       []view.Stream          `json:"streams"`
	Secrets       []view.Secret          `json:"hidden"`
}

const (
	// MostRows, mostPageBodies and mostPageBody bound the page: its exchanges, the bytes
	// of all their bodies, and those of one.
	MostRows       = 10_000
	mostPageBodies = 16 << 20
	mostPageBody   = 256 << 10
	// mostReport is how much of the report the page has, in bytes.
	mostReport = 1 << 20
	rowsAtOnce = 1000
)

// Of is the data with the exchanges of a capture, as they were at a time.
func (d Page) Of(c *capture.Capture, at time.Time) ([]byte, error) {
	d.Report = d.Report[:jsonraw.RuneStart([]byte(d.Report), min(len(d.Report), mostReport))]
	now, judge := func() time.Time { return at }, &recorded.RowFindings{}
	store, err := live.New(live.Options{Path: c.Path, Given: c, Now: now, Judge: judge})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	v := view.New(store, view.Options{Now: now, Title: d.Title, File: true, Findings: judge.Shown, Words: judge.Words()})
	p := pager{v: v, Page: &d, room: mostPageBodies}
	if err := p.fill(context.Background()); err != nil {
		return nil, err
	}
	return jsonraw.Marshal(d)
}

// A pager fills a Page, as long as there is room for bodies.
type pager struct {
	*Page
	v    *view.Views
	room int
}

func (p *pager) fill(ctx context.Context) (err error) {
	p.Rows, p.Blocks, p.Details = []view.Row{}, map[string][]view.Line{}, map[string]view.Detail{}
	for q := (view.Query{Count: rowsAtOnce}); len(p.Rows) < MostRows; {
		blocks, page, err := p.v.Talk(ctx, q)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			p.Rows, p.Blocks[b.Row.Key] = append(p.Rows, b.Row), b.Lines
		}
		if q.From += len(blocks); len(blocks) == 0 || q.From >= page.Total {
			break
		}
		p.Left = fmt.Sprintf("The first %d of %d exchanges are shown; mcpc inspect FILE shows all.", MostRows, page.Total)
	}
	if len(p.Rows) < MostRows {
		p.Left = ""
	}
	for _, row := range p.Rows {
		if err := p.detail(ctx, row.Key); err != nil {
			return err
		}
	}
	p.Conversations = p.v.Conversations()
	if p.Tools, err = p.v.Tools(ctx, view.Query{}); err != nil {
		return err
	}
	if p.Streams, err = p.v.Streams(ctx, view.Query{}); err != nil {
		return err
	}
	p.Secrets, err = p.v.Secrets(ctx, view.Query{})
	return err
}

// detail adds what there is to know of an exchange.
func (p *pager) detail(ctx context.Context, key string) error {
	d, err := p.v.Detail(ctx, key)
	if err != nil {
		return err
	}
	d.Lines = nil // the block has them
	p.cut(d.Request)
	p.cut(d.Response)
	for i := range d.Frames {
		p.cut(d.Frames[i].Body)
		p.cut(d.Frames[i].Was)
	}
	p.Details[key] = d
	return nil
}

// cut leaves of a body what there is room for.
func (p *pager) cut(b *view.Body) {
	if b == nil {
		return
	}
	if most := min(mostPageBody, p.room); len(b.Text) > most {
		b.Text, b.Cut = b.Text[:jsonraw.RuneStart([]byte(b.Text), most)], true
	}
	p.room -= len(b.Text)
}
