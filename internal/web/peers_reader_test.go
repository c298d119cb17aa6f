//go:build peers

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"mcpc/internal/live"
	"mcpc/internal/live/view"
)

// A dummy is a Reader with documents whose every field is filled: with text, or with an allowed
// value.
type dummy struct {
	*fakeReader
	text  string
	words map[string][]string // by the name of a field, in JSON
	rows  int
	long  int // of each list
	raw   string
	body  string
	waits int // questions, and held messages
	at    time.Time
	n     int
}

// sane are the values of fields that are no free text.
var sane = map[string][]string{
	"state": {"done", "done", "open", "asking", "held"}, "channel": {"ok", "tool_error", "rpc_error", "timeout", "ok"}, "dir": {"sent", "received"},
	"kind": {"request", "progress", "log", "question", "answer", "response", "remark"}, "level": {"", "warning", "error"}, "method": {"tools/call", "tools/list", "resources/read"},
	"severity": {"error", "warning", "note"}, "pointer": {"/a/0"}, "listed": {"yes", "no"}, "target": {"npx server"},
}

// fill sets all that v has.
func (f *dummy) fill(v reflect.Value, name string) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(f.text)
		if words := f.words[name]; len(words) > 0 {
			v.SetString(words[f.n%len(words)])
		}
	case reflect.Bool:
		v.SetBool(f.n%3 == 0)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(f.n%7 + 1))
	case reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(float64(f.n%9)/4 + 0.1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), "")
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(f.raw))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), f.long, f.long))
		for i := range f.long {
			f.fill(v.Index(i), name)
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(f.at.Add(time.Duration(f.n%50) * time.Second)))
			return
		}
		if body, ok := v.Addr().Interface().(*view.Body); ok {
			*body = view.Body{Text: f.body[:min(len(f.body), 64<<10)], Bytes: len(f.body), Cut: len(f.body) > 64<<10}
			return
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue // it is not in the JSON
			}
			tag, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			f.fill(v.Field(i), tag)
		}
		if s, ok := v.Addr().Interface().(*view.Status); ok {
			*s = view.Status{Status: live.Status{Seq: f.seq, Rows: f.rows, Warnings: []string{f.text}}, Title: f.text, Questions: f.waits, Held: f.waits}
		}
	}
}

func dummyOf[T any](f *dummy) (v T) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n = 0
	f.fill(reflect.ValueOf(&v).Elem(), "")
	return v
}

func (f *dummy) row(i int) view.Row {
	r := dummyOf[view.Row](f)
	if f.words != nil {
		r.Key, r.Talk, r.Parent = fmt.Sprint("1.", i+1), "1.1", ""
		r.State, r.Channel = f.words["state"][i%5], f.words["channel"][i%5]
		r.Failed = r.Channel != "ok"
	}
	return r
}

func (f *dummy) page(q view.Query) view.Page {
	p := view.Page{Total: f.rows, From: q.From}
	if p.From < 0 {
		p.From = max(0, f.rows+p.From)
	}
	for i := p.From; i < min(f.rows, p.From+q.Count); i++ {
		p.Rows = append(p.Rows, f.row(i))
	}
	return p
}

func (f *dummy) Status() view.Status {
	s := dummyOf[view.Status](f)
	s.Home = true
	return s
}

func (f *dummy) Rows(_ context.Context, q view.Query) (view.Page, error) {
	return f.page(q), nil
}

func (f *dummy) Talk(_ context.Context, q view.Query) (all []view.Block, p view.Page, err error) {
	p = f.page(q)
	for _, r := range p.Rows {
		b := dummyOf[view.Block](f)
		b.Row = r
		all = append(all, b)
	}
	p.Rows = nil
	return all, p, nil
}

func (f *dummy) Conversations() []view.Conversation {
	all := dummyOf[[]view.Conversation](f)
	if f.words != nil {
		all = all[:1]
		all[0].ID, all[0].First = "1.1", true
	}
	return all
}

func (f *dummy) Detail(_ context.Context, key string) (view.Detail, error) {
	d := dummyOf[view.Detail](f)
	if f.words != nil {
		d.Row = f.row(0)
		d.Row.Key = key
	}
	return d, nil
}
func (f *dummy) Body(context.Context, string, int) ([]byte, error) { return []byte(f.body), nil }
func (f *dummy) Tools(context.Context, view.Query) ([]view.Tool, error) {
	return dummyOf[[]view.Tool](f), nil
}

func (f *dummy) Streams(context.Context, view.Query) ([]view.Stream, error) {
	return dummyOf[[]view.Stream](f), nil
}

func (f *dummy) Secrets(context.Context, view.Query) ([]view.Secret, error) {
	return dummyOf[[]view.Secret](f), nil
}

func (f *dummy) Lanes(context.Context, view.Query, time.Time, time.Time) ([]view.Lane, error) {
	return dummyOf[[]view.Lane](f), nil
}

func (f *dummy) Diff(context.Context, string, string) (a, b []view.Change, err error) {
	return dummyOf[[]view.Change](f), dummyOf[[]view.Change](f), nil
}

func (f *dummy) Compare(context.Context, string, string) (view.Comparison, error) {
	return dummyOf[view.Comparison](f), nil
}
func (f *dummy) Suggest(string) []view.Suggestion { return dummyOf[[]view.Suggestion](f) }

// asking is an Actor that may do all, has questions and holds messages.
type asking struct {
	*fakeActor
	reader *dummy
}

func (a asking) Questions() []view.Question {
	all := dummyOf[[]view.Question](a.reader)
	for i := range all {
		all[i].ID = fmt.Sprint(i)
		all[i].Method = []string{"elicitation/create", "sampling/createMessage", "roots/list"}[i%3]
		if i%2 == 0 {
			all[i].URL = ""
		}
	}
	return all
}

// Catalog returns offers of all kinds.
func (a asking) Catalog(context.Context, string) (view.Catalog, error) {
	c := dummyOf[view.Catalog](a.reader)
	c.Lists = nil
	for _, kind := range []string{view.KindTool, view.KindPrompt, view.KindResource, view.KindTemplate, view.KindTask} {
		list := dummyOf[view.OfferList](a.reader)
		list.Kind = kind
		for i := range list.Offers {
			list.Offers[i].Kind = kind
			list.Offers[i].Refused = ""
		}
		c.Lists = append(c.Lists, list)
	}
	return c, nil
}

// Servers returns more servers than fit in the window.
func (a asking) Servers() []view.Server {
	all := dummyOf[[]view.Server](a.reader)
	for i := range all {
		all[i].Name += fmt.Sprint(i)
	}
	return all
}

func (a asking) Held() []view.Held {
	all := dummyOf[[]view.Held](a.reader)
	for i := range all {
		all[i].ID = fmt.Sprint(i)
	}
	return all
}
