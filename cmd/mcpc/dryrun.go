package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/wire"
)

// dryRun shows the request that a call would send. Nothing is sent, no process is
// started, and nobody is asked: what the request depends on is what is remembered.
func (a *app) dryRun(ctx context.Context, o callOptions) error {
	if o.task.set {
		return hintedError{"--task is settled with the server, which a dry run does not ask", "leave one of the two out"}
	}
	c := &conversation{a: a}
	if out := writable(a.output); !out.Good() {
		a.end(out)
		return nil
	}
	out := c.find(o.argv)
	var opt client.Options
	if out.Good() {
		opt, out = c.options(ctx, opening{draft: true})
	}
	if !out.Good() {
		a.end(out)
		return nil
	}
	tool := c.inMemory(o.name)
	if out = c.checkedOffline(tool, &o); !out.Good() {
		a.end(out)
		return nil
	}
	if tool != nil {
		a.tell(o.reading)
	}
	return a.showDraft(ctx, c, opt, o, tool)
}

// checkedOffline holds the arguments against a remembered definition.
func (c *conversation) checkedOffline(tool *definition, o *callOptions) wire.Outcome {
	if tool == nil && !o.noValidate {
		c.a.warn("no definition of " + o.name + " is remembered, so nothing was checked and each word is a text; a real call asks the server")
	}
	if tool == nil || o.noValidate {
		return c.unchecked(tool, o)
	}
	return c.checkArguments(tool, o)
}

func (a *app) showDraft(ctx context.Context, c *conversation, opt client.Options, o callOptions, tool *definition) error {
	if a.guard != nil {
		opt.Fields = append(a.guard.Held(), opt.Fields...)
	}
	d, err := client.Compose(opt, c.presumed(opt), o.request(tool))
	if err != nil {
		return fmt.Errorf("composing the request: %w", err)
	}
	ans := answer{method: "tools/call", result: draftJSON(d), human: func(w io.Writer, st render.Style) error { return writeDraft(w, st, d) }}
	if o.curl {
		script, err := asCurl(d, a.way.options(a.network.insecure))
		if err != nil {
			return err
		}
		ans.human = func(w io.Writer, _ render.Style) error { _, err := io.WriteString(w, script); return err }
	}
	a.print(ctx, ans)
	a.note("nothing was sent")
	return nil
}

// presumed is the conversation in which the request would be sent, as far as it is
// known without asking.
func (c *conversation) presumed(opt client.Options) client.Memory {
	if opt.Resume != nil {
		return *opt.Resume
	}
	m := client.Memory{Revision: or(c.a.protocol, opt.Known), Declared: opt.Capabilities}
	if m.Revision == "" {
		m.Revision = client.Revisions()[0]
		c.a.warn("nobody asked this server yet which revision it speaks; this is " + m.Revision + ", --protocol takes another")
	}
	if !client.Stateless(m.Revision) {
		c.a.note("initialize comes before it, and the session id goes along that the server then gives")
	}
	return m
}

// draftJSON is the request as one JSON document, the message in it byte for byte.
func draftJSON(d client.Draft) json.RawMessage {
	var all json.RawMessage
	if d.URL != "" {
		fields := json.RawMessage("{}")
		for _, f := range d.Fields {
			fields = wire.With(fields, f.Name, wire.Quote(f.Value))
		}
		all = wire.With(wire.With(all, "method", wire.Quote(d.Method)), "url", wire.Quote(d.URL))
		all = wire.With(all, "headers", fields)
	}
	return wire.With(all, "message", d.Message)
}

func writeDraft(w io.Writer, st render.Style, d client.Draft) error {
	var b bytes.Buffer
	if d.URL != "" {
		fmt.Fprintf(&b, "%s %s\n", d.Method, st.Line(d.URL))
		for _, f := range d.Fields {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, st.Line(f.Value))
		}
		b.WriteByte('\n')
	}
	b.WriteString(st.Block(string(d.Message)) + "\n")
	_, err := w.Write(b.Bytes())
	return err
}

func asCurl(d client.Draft, options [][2]string) (string, error) {
	if d.URL == "" {
		return "", hintedError{"curl speaks HTTP, and this server does not", "--dry-run shows the message"}
	}
	s := render.Script{Options: options}
	err := s.Curl(render.Post{Method: d.Method, URL: d.URL, Fields: d.Fields, Body: d.Message}, "")
	if failed, ok := errors.AsType[*render.Unscriptable](err); ok {
		return "", hintedError{failed.Text, ""}
	}
	return s.String(), err
}
