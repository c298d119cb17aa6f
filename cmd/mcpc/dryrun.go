package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"mcpc/internal/client"
	"mcpc/internal/render"
	"mcpc/internal/target"
	"mcpc/internal/wire"
)

// dryRun shows the request that a call would send. What it depends on is what is
// remembered; where the tool's definition is not, or forbids the arguments, the server is
// asked for it as the call would ask, unless that is not wanted. The call is not sent.
func (a *app) dryRun(ctx context.Context, o callOptions) error {
	if o.task != 0 {
		return hinted("--task is negotiated with the server, which --dry-run does not contact", "use only one of the two")
	}
	c := &conversation{a: &a.env}
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
	if o.curl && opt.Server.URL == "" {
		return hinted("--curl needs an HTTP server", "--dry-run prints the message")
	}
	tool := c.inMemory(o.name)
	if a.index > 0 && !o.offline {
		tool = nil // it is chosen from a fresh list
	}
	if tool != nil || o.offline {
		out = c.checkedOffline(tool, &o.callRequest)
	}
	asked := !o.offline && (tool == nil && c.wantsDefinition(opt, o) || tool != nil && !out.Good())
	if asked {
		tool, out = a.definitionFor(ctx, o.argv, c, &opt, &o.callRequest)
	} else if tool == nil && !o.offline {
		out = c.unchecked(nil, &o.callRequest)
	}
	if !out.Good() {
		a.end(out)
		return nil
	}
	if tool != nil {
		a.tell(o.reading)
	}
	if err := a.showDraft(ctx, c, opt, o, tool); err != nil {
		return err
	}
	if asked {
		a.note("requested the definition of " + o.name + "; the call was not sent")
	} else {
		a.note("nothing was sent")
	}
	return nil
}

// wantsDefinition reports that a call would ask for the definition.
func (c *conversation) wantsDefinition(opt client.Options, o callOptions) bool {
	overHTTP := opt.Server.URL != "" && (opt.Known == "" || client.Stateless(opt.Known))
	return !o.noValidate || len(o.given.words) > 0 || overHTTP
}

// definitionFor gets the definition as the call would, and what the conversation turns out to
// be.
func (a *app) definitionFor(ctx context.Context, argv []string, c *conversation, opt *client.Options, o *callRequest) (*definition, wire.Outcome) {
	real, out := a.open(ctx, opening{argv: argv})
	defer a.close(ctx, real)
	if !out.Good() {
		return nil, out
	}
	tool, out := real.define(ctx, o.name)
	switch {
	case o.noValidate && (out.Good() || out.Kind == wire.InvalidArguments):
		out = real.unchecked(tool, o)
	case out.Good():
		out = real.checkArguments(tool, o)
	}
	if c.saved == nil {
		opt.Known = real.Revision()
	}
	return tool, out
}

// checkedOffline holds the arguments against a remembered definition. Without one the
// types of words are not known, and what is shown would not be what is sent.
func (c *conversation) checkedOffline(tool *definition, o *callRequest) wire.Outcome {
	switch untyped := slices.IndexFunc(o.given.words, func(w word) bool { return w.raw == nil }); {
	case tool == nil && untyped >= 0:
		w := o.given.words[untyped]
		return usage(hinted("no definition of "+o.name+" is cached, so the type is unknown of "+wire.Excerpt([]byte(w.typed), 60),
			wire.Hint("without --offline it is requested from the server; "+w.key()+":=JSON gives the type")))
	case tool == nil && !o.noValidate:
		c.a.ui.warn("no definition of " + o.name + " is cached, so the arguments were not validated; a real call requests it")
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
	return nil
}

// presumed is the conversation in which the request would be sent, as far as it is
// known without asking.
func (c *conversation) presumed(opt client.Options) client.Memory {
	if opt.Resume != nil {
		return *opt.Resume
	}
	m := client.Memory{Revision: cmp.Or(c.a.protocol, opt.Known), Declared: opt.Capabilities}
	if m.Revision == "" {
		if m.Revision = client.Revisions()[0]; c.target.Kind == target.Demo {
			return m // the built-in demo server supports it
		}
		c.a.ui.warn("the server's revision is not known yet; this is " + m.Revision + ", --protocol selects another")
	}
	switch {
	case client.Stateless(m.Revision):
	case opt.Server.URL == "":
		c.a.ui.note("a real call sends initialize first")
	default:
		c.a.ui.note("a real call sends initialize first, and then includes the session id")
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
	s := render.Script{Options: options}
	err := s.Curl(render.Post{Method: d.Method, URL: d.URL, Fields: d.Fields, Body: d.Message}, "")
	if failed, ok := errors.AsType[*render.Unscriptable](err); ok {
		return "", hinted(failed.Text, "")
	}
	return s.String(), err
}
