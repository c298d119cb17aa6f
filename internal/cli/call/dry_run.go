package call

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/connect"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/render/term"
	"mcpc/internal/render/traffic"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// dryRun shows the request that a call would send. What it depends on is what is
// remembered; where the tool's definition is not, or forbids the arguments, the server is
// asked for it as the call would ask, unless that is not wanted. The call is not sent.
func dryRun(ctx context.Context, f *cmdutil.Factory, o callOptions) (err error) {
	if o.Task != 0 {
		return usage.New("--task is negotiated with the server, which --dry-run does not contact", "use only one of the two")
	}
	c := &connect.Conn{Env: &f.Env}
	if out := cmdutil.Writable(f.Output); !out.Good() {
		return cmdutil.Exit(out)
	}
	out := c.Find(o.argv)
	var opt client.Options
	if out.Good() {
		opt, out = c.ClientOptions(ctx, connect.Options{Draft: true})
	}
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	if o.curl && opt.Server.URL == "" {
		return usage.New("--curl needs an HTTP server", "--dry-run prints the message")
	}
	tool := c.LastKnown(o.Name)
	if !o.offline && (f.Index > 0 || f.Fresh || c.StartsServer() || tool != nil && !f.Now().Before(tool.Until)) {
		tool = nil // the call would fetch it
	}
	if tool != nil || o.offline {
		out = checkedOffline(c, tool, &o.Request)
	}
	asked := !o.offline && tool == nil && wantsDefinition(opt, o)
	if !o.offline && tool != nil && (!out.Good() || toolcall.Unlisted(tool, &o.Request)) {
		asked = true
	}
	if asked {
		tool, out, err = definitionFor(ctx, f, o.argv, c, &opt, &o.Request)
	} else if tool == nil && !o.offline {
		out = toolcall.Unchecked(c, nil, &o.Request)
	}
	if !out.Good() {
		return cmdutil.Join(err, cmdutil.Exit(out))
	}
	if tool != nil {
		arguments.Tell(&f.Env, o.Reading)
	}
	if failed := showDraft(ctx, f, c, opt, o, tool); failed != nil {
		return cmdutil.Join(err, failed)
	}
	if asked {
		f.Note("requested the definition of " + o.Name + "; the call was not sent")
	} else {
		f.Note("nothing was sent")
	}
	return err
}

// wantsDefinition reports that a call would ask for the definition.
func wantsDefinition(opt client.Options, o callOptions) bool {
	overHTTP := opt.Server.URL != "" && (opt.KnownRevision == "" || client.Stateless(opt.KnownRevision))
	return !o.NoValidate || len(o.Given.Words) > 0 || overHTTP
}

// definitionFor gets the definition as the call would, and what the conversation turns out to
// be.
func definitionFor(
	ctx context.Context,
	f *cmdutil.Factory,
	argv []string,
	c *connect.Conn,
	opt *client.Options,
	o *toolcall.Request,
) (tool *connect.Definition, out wire.Outcome, err error) {
	real, out := f.Open(ctx, connect.Options{Argv: argv})
	defer func() { err = f.Close(ctx, real) }()
	if !out.Good() {
		return nil, out, nil
	}
	tool, out = real.Define(ctx, o.Name)
	if o.NoValidate && (out.Good() || out.Kind == wire.InvalidArguments) {
		out = toolcall.Unchecked(real, tool, o)
	} else if out.Good() {
		out = toolcall.CheckArguments(real, tool, o)
	}
	if c.Saved == nil {
		opt.KnownRevision = real.Revision()
	}
	return tool, out, nil
}

// checkedOffline holds the arguments against a remembered definition. Without one the
// types of words are not known, and what is shown would not be what is sent.
func checkedOffline(c *connect.Conn, tool *connect.Definition, o *toolcall.Request) wire.Outcome {
	switch untyped := slices.IndexFunc(o.Given.Words, func(w arguments.Word) bool { return w.Raw == nil }); {
	case tool == nil && untyped >= 0:
		w := o.Given.Words[untyped]
		return usage.Outcome(
			usage.New("no definition of "+o.Name+" is cached, so the type is unknown of "+jsonraw.Excerpt([]byte(w.Typed), 60),
				wire.Hint("without --offline it is requested from the server; "+w.Key()+":=JSON gives the type")),
		)
	case tool == nil && !o.NoValidate:
		c.Env.UI.Warn(
			"no definition of " + o.Name + " is cached, so the arguments were not validated; a real call requests it",
		)
	}
	if tool == nil || o.NoValidate {
		return toolcall.Unchecked(c, tool, o)
	}
	return toolcall.CheckArguments(c, tool, o)
}

func showDraft(
	ctx context.Context,
	f *cmdutil.Factory,
	c *connect.Conn,
	opt client.Options,
	o callOptions,
	tool *connect.Definition,
) error {
	if f.Guard != nil {
		opt.Fields = append(f.Guard.Held(), opt.Fields...)
	}
	d, err := client.Compose(opt, presumed(c, opt), o.ClientCall(tool))
	if err != nil {
		return fmt.Errorf("composing the request: %w", err)
	}
	ans := cmdutil.Answer{
		Method: "tools/call",
		Result: draftJSON(d),
		Human:  func(w io.Writer, st term.Style) error { return writeDraft(w, st, d) },
	}
	if o.curl {
		script, err := asCurl(d, f.Route.Options(f.Network.Insecure))
		if err != nil {
			return err
		}
		ans.Human = func(w io.Writer, _ term.Style) error { _, err := io.WriteString(w, script); return err }
	}
	return cmdutil.Print(ctx, f, ans)
}

// presumed is the conversation in which the request would be sent, as far as it is
// known without asking.
func presumed(c *connect.Conn, opt client.Options) client.Memory {
	if opt.Resume != nil {
		return *opt.Resume
	}
	m := client.Memory{Revision: cmp.Or(c.Env.Protocol, opt.KnownRevision), Declared: opt.Capabilities}
	if m.Revision == "" {
		m.Revision = client.Revisions()[0]
		if c.Target.Kind == target.Demo {
			return m // the built-in demo server supports it
		}
		c.Env.UI.Warn("the server's revision is not known yet; this is " + m.Revision + ", --protocol selects another")
	}
	switch {
	case client.Stateless(m.Revision):
	case opt.Server.URL == "":
		c.Env.UI.Note("a real call sends initialize first")
	default:
		c.Env.UI.Note("a real call sends initialize first, and then includes the session id")
	}
	return m
}

// draftJSON is the request as one JSON document, the message in it byte for byte.
func draftJSON(d client.Draft) json.RawMessage {
	var all json.RawMessage
	if d.URL != "" {
		fields := json.RawMessage("{}")
		for _, f := range d.Fields {
			fields = jsonraw.With(fields, f.Name, jsonraw.Quote(f.Value))
		}
		all = jsonraw.With(jsonraw.With(all, "method", jsonraw.Quote(d.Method)), "url", jsonraw.Quote(d.URL))
		all = jsonraw.With(all, "headers", fields)
	}
	return jsonraw.With(all, "message", d.Message)
}

func writeDraft(w io.Writer, st term.Style, d client.Draft) error {
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
	s := traffic.Script{Options: options}
	err := s.Curl(traffic.HTTPRequest{Method: d.Method, URL: d.URL, Fields: d.Fields, Body: d.Message}, "")
	if failed, ok := errors.AsType[*traffic.ScriptError](err); ok {
		return "", usage.New(failed.Text, "")
	}
	return s.String(), err
}
