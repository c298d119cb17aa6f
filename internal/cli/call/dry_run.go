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

// dryRun prints the request that a call would send, without sending it. It uses what is remembered
// of the server. If the tool's definition is unknown, outdated or does not accept the arguments,
// dryRun requests it from the server as the call would, unless --offline is given.
func dryRun(ctx context.Context, f *cmdutil.Factory, o callOptions) error {
	if o.Task != 0 {
		return usage.New("--task is negotiated with the server, which --dry-run does not contact", "use only one of the two")
	}
	c := &connect.Conn{Env: &f.Env}
	if out := cmdutil.CheckOutput(f.Output); !out.OK() {
		return cmdutil.Exit(out)
	}
	out := c.Find(o.argv)
	var opt client.Options
	if out.OK() {
		opt, out = c.ClientOptions(ctx, connect.Options{Draft: true})
	}
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	if o.curl && opt.Server.URL == "" {
		return usage.New("--curl needs an HTTP server", "use --dry-run without --curl: it prints the message")
	}
	tool := c.LastKnown(o.Name)
	isStale := tool != nil && !f.Now().Before(tool.Until)
	callFetchesTool := f.Index > 0 || f.Fresh || c.StartsServer() || isStale
	if callFetchesTool && !o.offline {
		tool = nil
	}
	requestsDefinition := false
	switch {
	case o.offline:
		out = checkArgumentsOffline(c, tool, &o.Request)
	case tool != nil:
		out = checkArgumentsOffline(c, tool, &o.Request)
		requestsDefinition = !out.OK() || toolcall.Unlisted(tool, &o.Request)
	case needsDefinition(opt, o):
		requestsDefinition = true
	default:
		out = toolcall.Unchecked(c, tool, &o.Request) // tool is nil
	}
	var err error
	if requestsDefinition {
		tool, out, err = requestDefinition(ctx, f, o.argv, c, &opt, &o.Request)
	}
	if !out.OK() {
		return cmdutil.Join(err, cmdutil.Exit(out))
	}
	if tool != nil {
		arguments.Tell(&f.Env, o.Reading)
	}
	if failed := printDraft(ctx, f, c, opt, o, tool); failed != nil {
		return cmdutil.Join(err, failed)
	}
	if requestsDefinition {
		f.Note("requested the definition of " + o.Name + "; the call was not sent")
	} else {
		f.Note("nothing was sent")
	}
	return err
}

// needsDefinition reports whether a call requires the tool's definition: to validate or type its
// arguments, or for the header fields of a stateless HTTP request.
func needsDefinition(opt client.Options, o callOptions) bool {
	mayBeStateless := opt.KnownRevision == "" || client.Stateless(opt.KnownRevision)
	needsFields := opt.Server.URL != "" && mayBeStateless
	return !o.NoValidate || len(o.Given.Words) > 0 || needsFields
}

// requestDefinition requests the tool's definition as the call would, and checks the arguments
// against it. It stores the negotiated revision in opt, unless the session is saved.
func requestDefinition(
	ctx context.Context,
	f *cmdutil.Factory,
	argv []string,
	c *connect.Conn,
	opt *client.Options,
	o *toolcall.Request,
) (tool *connect.Definition, out wire.Outcome, err error) {
	conn, out := f.Open(ctx, connect.Options{Argv: argv})
	defer func() { err = f.Close(ctx, conn) }()
	if !out.OK() {
		return nil, out, nil
	}
	tool, out = conn.Define(ctx, o.Name)
	isUnlisted := out.Kind == wire.InvalidArguments // tool is then nil
	if o.NoValidate && (out.OK() || isUnlisted) {
		out = toolcall.Unchecked(conn, tool, o)
	} else if out.OK() {
		out = toolcall.CheckArguments(conn, tool, o)
	}
	if c.Saved == nil {
		opt.KnownRevision = conn.Revision()
	}
	return tool, out, nil
}

// checkArgumentsOffline checks the arguments against the remembered definition. Without one, it
// returns an error if the type of an argument depends on the definition, since the printed request
// could differ from the sent one.
func checkArgumentsOffline(c *connect.Conn, tool *connect.Definition, o *toolcall.Request) wire.Outcome {
	firstUntyped := slices.IndexFunc(o.Given.Words, func(w arguments.Word) bool { return w.Raw == nil })
	if tool == nil && firstUntyped >= 0 {
		w := o.Given.Words[firstUntyped]
		return usage.Outcome(usage.New(
			"no definition of "+o.Name+" is cached, so the type is unknown of "+jsonraw.Excerpt([]byte(w.Typed), 60),
			wire.Hint("without --offline it is requested from the server; "+w.Key()+":=JSON gives the type"),
		))
	}
	if tool == nil && !o.NoValidate {
		c.Env.UI.Warn(
			"no definition of " + o.Name + " is cached, so the arguments were not validated; a real call requests it",
		)
	}
	if tool == nil || o.NoValidate {
		return toolcall.Unchecked(c, tool, o)
	}
	return toolcall.CheckArguments(c, tool, o)
}

// printDraft prints the request, or the curl command with --curl.
func printDraft(
	ctx context.Context,
	f *cmdutil.Factory,
	c *connect.Conn,
	opt client.Options,
	o callOptions,
	tool *connect.Definition,
) error {
	if f.Guard != nil { // a call would add the credentials when it is sent
		opt.Fields = append(f.Guard.HeaderFields(), opt.Fields...)
	}
	d, err := client.Compose(opt, assumedSession(c, opt), o.ClientCall(tool))
	if err != nil {
		return fmt.Errorf("composing the request: %w", err)
	}
	ans := cmdutil.Answer{
		Method: "tools/call",
		Result: draftJSON(d),
		Human:  func(w io.Writer, st term.Style) error { return writeDraft(w, st, d) },
	}
	if o.curl {
		script, err := curlScript(d, f.Route.Options(f.Network.Insecure))
		if err != nil {
			return err
		}
		ans.Human = func(w io.Writer, _ term.Style) error {
			_, err := io.WriteString(w, script)
			return err
		}
	}
	return cmdutil.Print(ctx, f, ans)
}

// assumedSession returns the session that the request would be sent in, as far as it is known
// without asking the server. If it has to guess the revision, it warns. It notes what else a real
// call would send.
func assumedSession(c *connect.Conn, opt client.Options) client.Memory {
	if opt.Resume != nil {
		return *opt.Resume
	}
	m := client.Memory{Revision: cmp.Or(c.Env.Protocol, opt.KnownRevision), Declared: opt.Capabilities}
	if m.Revision == "" {
		m.Revision = client.Revisions()[0] // the newest, which a call tries first
		if c.Target.Kind == target.Demo {
			return m // the built-in demo server supports it
		}
		c.Env.UI.Warn("the server's revision is not known yet; this is " + m.Revision + ", --protocol selects another")
	}
	if client.Stateless(m.Revision) {
		return m
	}
	if opt.Server.URL == "" {
		c.Env.UI.Note("a real call sends initialize first")
	} else {
		c.Env.UI.Note("a real call sends initialize first, and then includes the session id")
	}
	return m
}

// draftJSON returns the request as one JSON document; the message keeps its bytes.
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

// writeDraft writes the request as text.
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

// curlScript returns the request as a curl command.
func curlScript(d client.Draft, options [][2]string) (string, error) {
	s := traffic.Script{Options: options}
	err := s.Curl(traffic.HTTPRequest{Method: d.Method, URL: d.URL, Fields: d.Fields, Body: d.Message}, "")
	if failed, ok := errors.AsType[*traffic.ScriptError](err); ok {
		return "", usage.New(failed.Text, "")
	}
	return s.String(), err
}
