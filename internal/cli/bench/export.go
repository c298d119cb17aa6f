package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"mcpc/internal/bench/k6"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/client"
	"mcpc/internal/client/transport"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/mcp"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// checkExport rejects options that an exported load test cannot have.
func (o *options) checkExport(f *cmdutil.Factory) error {
	if o.files.export == "" {
		return nil
	}
	isCompared := o.judge.compare != "" || o.judge.against != ""
	hasFiles := o.files.histogram != "" || o.files.samples != "" || o.files.junit != ""
	if o.files.export != "k6" {
		return usage.New(fmt.Sprintf("--export makes load tests for k6, not for %q", o.files.export), "--export k6 -o DIR")
	}
	if f.Output == "" {
		return usage.New("a load test is a directory: --export k6 needs -o DIR", "--export k6 -o load")
	}
	if isCompared || hasFiles || o.cold > 0 {
		return usage.New("--export makes no calls: --compare, --against, --cold and files of results are for a run here",
			"use only one of them")
	}
	if err := k6.CheckEmptyDir(f.Output); errors.Is(err, k6.ErrNotEmpty) {
		return usage.New("-o: "+f.Output+" is not empty", "name a directory that does not exist yet")
	} else if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+f.Output, usage.Bare(err)))
	}
	return nil
}

// export writes the call and the load as a load test for k6. It requests the tool's definition, but
// does not call the tool.
func export(ctx context.Context, f *cmdutil.Factory, o *options) error {
	dir := f.Output
	f.Output = "" // -o is a directory here, which Open would take for a file
	m, out := openMeasurement(ctx, f, o, o.argv)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	plan, err := m.k6Plan(f, o)
	if err != nil {
		return err
	}
	secrets, err := k6.Write(dir, plan)
	if err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+dir, usage.Bare(err)))
	}
	f.Note(
		fmt.Sprintf("load test saved to %s; run it with: k6 run %s", dir, shellwords.Quote(filepath.Join(dir, k6.Script))),
	)
	for _, s := range secrets {
		f.Note("set " + s.Env + " to " + s.Value)
	}
	return nil
}

// k6Plan returns the load test for k6, without secrets. It returns a usage error for a server that
// k6 cannot call.
func (m *measurement) k6Plan(f *cmdutil.Factory, o *options) (k6.Plan, error) {
	if m.conn.Transport() != transport.StreamableHTTP {
		return k6.Plan{}, usage.New(
			"not exported: k6 sends Streamable HTTP only, and this server speaks "+string(m.conn.Transport()),
			"run the server with Streamable HTTP; mcpc bench itself measures every transport",
		)
	}
	params, hidden := f.Secrets.Bytes(m.call.Params)
	if hidden == 0 {
		params = m.call.Params
	}
	// A secret whose placeholder cannot be found again has no variable.
	if lost := hidden - len(redact.HiddenIn(string(params))); lost > 0 {
		f.Warn(
			fmt.Sprintf("%s in the arguments was replaced, and no variable stands for it: edit %s",
				english.Plural(lost, "secret"), k6.Data),
		)
	}
	if err := k6.CheckParams(params); err != nil {
		return k6.Plan{}, usage.New("not exported: the arguments are not "+err.Error(), "")
	}
	p := k6.Plan{
		Version:   f.Version,
		URL:       f.Secrets.Text(redact.RedactURL(m.endpoint())),
		Revision:  m.conn.Revision(),
		Stateless: client.Stateless(m.conn.Revision()),
		Open:      o.plan.IsOpen(),
		Rate:      o.plan.Rate,
		Users:     max(1, o.plan.Users),
		Think:     o.plan.Think,
		Duration:  o.plan.Duration,
		Warmup:    o.warmup.Duration,
		Expect:    o.judge.expectations,
	}
	if p.Open {
		p.Users = o.plan.InFlight
	}
	if p.Duration == 0 { // a k6 test has a duration, not a number of calls
		p.Duration = 30 * time.Second
		f.Note("--duration is not given: the load test takes 30 s")
	}
	call := k6.Call{Method: "tools/call", Tool: o.call.Name, Params: params}
	if p.Stateless {
		call.Headers = append(
			[]wire.Field{{Name: "Mcp-Method", Value: "tools/call"}, {Name: "Mcp-Name", Value: mcp.EncodeHeader(o.call.Name)}},
			mcp.HeaderFields(m.call.Schema, jsonraw.First(params, "arguments"))...)
	}
	p.Calls = []k6.Call{call}
	for _, field := range m.conn.Fields {
		safe := redact.RedactField(field)
		p.Headers = append(p.Headers, wire.Field{Name: safe.Name, Value: f.Secrets.Text(safe.Value)})
	}
	return p, nil
}
