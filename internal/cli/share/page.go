package share

import (
	"context"
	"fmt"
	"time"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

// A Page is the content of a bundle's page as JSON. It consists of documents of package view.
type Page struct {
	Title    string          `json:"title"`
	Manifest bundle.Manifest `json:"manifest"`
	Report   string          `json:"report"`
	Notes    string          `json:"notes,omitempty"`
	// Left says which exchanges the page does not show, or is "".
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
	// MostRows bounds the exchanges of the page, maxPageBodies the bytes of all their bodies, and
	// maxPageBody the bytes of one body.
	MostRows      = 10_000
	maxPageBodies = 16 << 20
	maxPageBody   = 256 << 10
	// maxPageReport bounds the report in the page, in bytes. rowsAtOnce is how many exchanges are
	// read at a time.
	maxPageReport = 1 << 20
	rowsAtOnce    = 1000
)

// JSON returns the page with the exchanges of a capture as JSON. Ages are relative to the time
// modified, so that the same capture always gives the same page.
func (page Page) JSON(c *rows.Capture, modified time.Time) ([]byte, error) {
	page.Report = page.Report[:jsonraw.RuneStart([]byte(page.Report), min(len(page.Report), maxPageReport))]
	now := func() time.Time { return modified }
	judge := &recorded.RowFindings{}
	store, err := live.New(live.Options{Path: c.Path, Capture: c, Now: now, Judge: judge})
	if err != nil {
		return nil, err
	}
	defer store.Close()
	v := view.New(store, view.Options{
		Now:      now,
		Title:    page.Title,
		File:     true,
		Findings: func(r *rows.Row) ([]view.Finding, error) { return findingsWithoutExcerpts(judge, r) },
		Words:    judge.Words(),
	})
	if err := page.fill(context.Background(), v); err != nil {
		return nil, err
	}
	return jsonraw.Marshal(page)
}

// fill adds the exchanges and all other documents of the views. It adds at most about MostRows
// exchanges, and cuts their bodies once they have maxPageBodies bytes in total.
func (d *Page) fill(ctx context.Context, v *view.Views) error {
	d.Rows = []view.Row{}
	d.Blocks = map[string][]view.Line{}
	d.Details = map[string]view.Detail{}
	for query := (view.Query{Count: rowsAtOnce}); len(d.Rows) < MostRows; {
		blocks, page, err := v.Talk(ctx, query)
		if err != nil {
			return err
		}
		for _, b := range blocks {
			d.Rows = append(d.Rows, b.Row)
			d.Blocks[b.Row.Key] = b.Lines
		}
		query.From += len(blocks)
		if len(blocks) == 0 || query.From >= page.Total {
			break
		}
		d.Left = fmt.Sprintf("The first %d of %d exchanges are shown; mcpc inspect FILE shows all.", MostRows, page.Total)
	}
	if len(d.Rows) < MostRows {
		d.Left = ""
	}
	remaining := maxPageBodies
	cut := func(b *view.Body) { // shortens a body to the remaining bytes; some messages have no body
		if b == nil {
			return
		}
		if limit := min(maxPageBody, remaining); len(b.Text) > limit {
			b.Text = b.Text[:jsonraw.RuneStart([]byte(b.Text), limit)]
			b.Cut = true
		}
		remaining -= len(b.Text)
	}
	for _, row := range d.Rows {
		detail, err := v.Detail(ctx, row.Key)
		if err != nil {
			return err
		}
		detail.Lines = nil // the block has them
		cut(detail.Request)
		cut(detail.Response)
		for i := range detail.Frames {
			cut(detail.Frames[i].Body)
			cut(detail.Frames[i].Was)
		}
		d.Details[row.Key] = detail
	}
	d.Conversations = v.Conversations()
	var err error
	d.Tools, err = v.Tools(ctx, view.Query{})
	if err != nil {
		return err
	}
	d.Streams, err = v.Streams(ctx, view.Query{})
	if err != nil {
		return err
	}
	d.Secrets, err = v.Secrets(ctx, view.Query{})
	return err
}

// findingsWithoutExcerpts returns the findings about a row without excerpts: an excerpt has no names around it that
// tell a cursor from a secret.
func findingsWithoutExcerpts(judge *recorded.RowFindings, r *rows.Row) ([]view.Finding, error) {
	findings, err := judge.ViewFindings(r)
	for i := range findings {
		findings[i].Got = ""
	}
	return findings, err
}
