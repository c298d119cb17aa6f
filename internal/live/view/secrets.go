package view

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"mcpc/internal/capture/rows"
	"mcpc/internal/jsonraw"
	"mcpc/internal/live"
	"mcpc/internal/redact"
	"mcpc/internal/sliceutil"
	"mcpc/internal/wire"
)

const (
	// maxSearched limits the rows searched for secrets to the newest.
	maxSearched = 2000
	// maxOfSecret limits the rows and the places listed for a secret.
	maxOfSecret = 50
)

// Secrets returns the secrets that were hidden in the newest rows that a query selects, first the
// secrets of several servers, then the most frequent. It waits until all bodies are searched, or
// returns the error of ctx.
func (v *Views) Secrets(ctx context.Context, q Query) ([]Secret, error) {
	q.Filter = strings.TrimSpace(q.Filter)
	if q.Filter != "" {
		q.Filter = "(" + q.Filter + ") " // it may have an "or"
	}
	q.Filter = q.Filter + "secret:*"
	q.Sort = ""
	q.From = -maxSearched
	q.Count = maxSearched
	page, keys, err := v.page(ctx, q, maxSearched)
	for err == nil && page.Pending > 0 && ctx.Err() == nil { // a partial list would look complete
		v.store.Wait(ctx, page.Seq)
		page, keys, err = v.page(ctx, q, maxSearched)
	}
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f := &secretFinder{found: map[string]*Secret{}}
	for part := range slices.Chunk(keys, defaultRows) {
		v.store.Look(part, func(i int, r *rows.Row) {
			if r != nil && err == nil {
				f.row = r
				err = r.EachFrame(f.addFrame)
			}
		})
	}
	out := make([]Secret, 0, len(f.found))
	for _, s := range f.found {
		out = append(out, *s)
	}
	sliceutil.Sort(out, func(a, b Secret) int {
		if n := len(b.Servers) - len(a.Servers); n != 0 {
			return n // secrets sent to several servers come first
		}
		if a.Times != b.Times {
			return b.Times - a.Times
		}
		return strings.Compare(a.Hash, b.Hash)
	})
	return out, err
}

// A secretFinder collects the hidden secrets of frames by their hash.
type secretFinder struct {
	found map[string]*Secret
	row   *rows.Row
}

// addFrame collects the hidden secrets of a frame's head and message. It never fails: the error is
// for EachFrame.
func (f *secretFinder) addFrame(frame wire.Frame) error {
	if h := frame.HTTP; h != nil {
		f.addText(h.URL, "URL", "url")
		for _, field := range h.Fields {
			f.addText(field.Value, "header "+field.Name, field.Name)
		}
	}
	// Do not parse a message without hidden secrets, as most are.
	if len(redact.HiddenIn(string(frame.Raw))) == 0 {
		return nil
	}
	if frame.Kind == wire.Stderr || frame.Kind == wire.Noise {
		f.addText(string(frame.Raw), frame.Kind.String(), frame.Kind.String())
	} else {
		f.addMessage(frame)
	}
	return nil
}

// addMessage collects the secrets of a message by the member that contains them.
func (f *secretFinder) addMessage(frame wire.Frame) {
	m := wire.ParseMessage(frame.Raw)
	total := len(redact.HashesIn(string(frame.Raw)))
	arguments := jsonraw.First(m.Params, "arguments")
	inArguments := f.addValue(arguments, "argument", "")
	rest := f.addValue(jsonraw.Without(m.Params, "arguments"), "params", "") + f.addValue(m.Result, "result", "")
	if m.Error != nil {
		rest += f.addValue(m.Error.Raw, "error", "")
	}
	// Some are elsewhere, such as in an id or in a name: list all under the message.
	if inArguments+rest < total {
		f.addText(string(frame.Raw), "message", "message")
	}
}

// addValue collects the secrets in a JSON value and returns their number. where names the part of
// the message, and name is the dotted path of the value in it.
func (f *secretFinder) addValue(raw json.RawMessage, where, name string) int {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || len(redact.HiddenIn(string(raw))) == 0 {
		return 0
	}
	n := 0
	switch raw[0] {
	case '{':
		members, _ := jsonraw.Object(raw)
		for _, m := range members {
			n += f.addValue(m.Value, where, strings.TrimPrefix(name+"."+m.Name, "."))
		}
	case '[':
		items, _ := jsonraw.Array(raw)
		for _, item := range items {
			n += f.addValue(item, where, name+"[]")
		}
	default:
		return f.addText(string(raw), strings.TrimSpace(where+" "+name), name[strings.LastIndex(name, ".")+1:])
	}
	return n
}

// addText collects the secrets in a text and returns their number. A new secret gets the kind.
func (f *secretFinder) addText(text, place, kind string) int {
	hashes := redact.HashesIn(text)
	for _, hash := range hashes {
		s := f.found[hash]
		if s == nil {
			s = &Secret{Hash: hash, Kind: strings.ToLower(kind)}
			f.found[hash] = s
		}
		s.Times++
		s.Places = appendOnce(s.Places, place)
		s.Servers = appendOnce(s.Servers, f.row.Target)
		s.Rows = appendOnce(s.Rows, live.KeyOf(f.row).String())
	}
	return len(hashes)
}

// appendOnce appends a text unless the list has it or is full.
func appendOnce(all []string, text string) []string {
	if len(all) >= maxOfSecret || slices.Contains(all, text) {
		return all
	}
	return append(all, text)
}
