package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/card"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/term"
	"mcpc/internal/target"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// cardOptions are the flags of mcpc init --card.
type cardOptions struct {
	source, pick              string
	inputs                    []string
	experimental, dryRun, yes bool
}

// flags declares the flags.
func (o *cardOptions) flags(flags *pflag.FlagSet) {
	flags.StringVar(&o.source, "card", "", "server card, server.json or AI catalog: a `file`, URL or host")
	flags.BoolVar(&o.experimental, "experimental", false, "allow features that are drafts and may change: --card")
	flags.StringVar(&o.pick, "pick", "", "with --card: the `number` of the server in the list")
	flags.StringArrayVar(&o.inputs, "input", nil, "with --card: value of an input, `NAME=VALUE`")
	flags.BoolVar(&o.dryRun, "dry-run", false, "with --card: show what mcpc would connect to or run")
	flags.BoolVarP(&o.yes, "yes", "y", false, "with --card: approve the server without asking")
}

// check returns an error for flags that exclude each other. named is set if another server is given.
func (o *cardOptions) check(f *cmdutil.Factory, named bool) error {
	if o.source == "" && (o.pick != "" || o.inputs != nil || o.dryRun || o.yes) {
		return usage.New("--pick, --input, --dry-run and --yes need --card", wire.Run("init --experimental --card FILE"))
	}
	if o.source == "" {
		return nil
	}
	if !o.experimental {
		return usage.New("--card reads formats that are drafts and may change", "add --experimental")
	}
	if named || f.ServerGiven {
		return usage.New("two servers are given: one with --card, and another", "use only one of them")
	}
	return nil
}

// A described is a server that a card describes, with the selected way to use it.
type described struct {
	FoundCard
	choice card.Choice
	plan   card.Plan
}

// initCard opens a session with the server of a card after the user has approved it.
func initCard(ctx context.Context, f *cmdutil.Factory, o initOptions) error {
	values, err := o.card.values(ctx, f)
	if err != nil {
		return err
	}
	found, picks, out := LoadCard(ctx, &f.Env, o.card.source, o.card.pick)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	d := &described{FoundCard: found}
	if d.Several == nil {
		d.choice, d.Several = found.Choose(picks)
	}
	if d.Several != nil {
		return o.card.list(ctx, f, d.FoundCard, len(picks) == 0)
	}
	if n := len(found.Server.Choices); n > 1 && o.card.pick == "" {
		f.Note(fmt.Sprintf("this is one of %d ways to use the server; --pick chooses another", n))
	}
	if o.card.dryRun {
		values.Ask = nil // the plan then shows which inputs are required
	}
	d.plan, err = card.Resolve(d.choice, values)
	if ctx.Err() != nil || errors.Is(err, context.Canceled) { // interrupted while it asked for an input
		return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
	}
	if err != nil {
		return cmdutil.Exit(CardFailed(found.From, err))
	}
	if out := found.Permitted(ctx, d.plan.URL); !out.OK() {
		return cmdutil.Exit(out)
	}
	server, err := d.server(values, o.card.yes)
	if err != nil {
		return err
	}
	if o.card.dryRun {
		return d.show(ctx, f, server)
	}
	_ = term.Facts(f.Stderr(), f.ErrStyle, d.facts(f))
	if o.card.yes { // without --yes, runInit shows the server when it asks for approval
		_ = f.WriteServer(f.Stderr(), f.ErrStyle, asConfigured(server))
	}
	return runInit(ctx, f, o, connect.Options{Card: server}, d)
}

// values returns the sources of input values: --input, the environment, and for a required input the
// terminal.
func (o *cardOptions) values(ctx context.Context, f *cmdutil.Factory) (card.Values, error) {
	v := card.Values{Given: map[string][]string{}, Env: func(id string) string { return f.Getenv(host.InputEnv(id)) }}
	for _, text := range o.inputs {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return v, usage.New("--input needs NAME=VALUE", "--input tenant=acme")
		}
		v.Given[name] = append(v.Given[name], value)
	}
	v.Ask = func(in card.Input) (string, error) {
		return f.Env.InputValue(ctx, target.ClientInput{ID: in.ID, Description: in.Description, Options: in.Choices})
	}
	return v, nil
}

// list shows the servers, or ways to use a server, to choose from. It prints them and returns nil
// with --dry-run; otherwise it shows them on standard error and returns a usage error. isValid is
// false if --pick has a number that is not in the list.
func (o *cardOptions) list(ctx context.Context, f *cmdutil.Factory, found FoundCard, isValid bool) error {
	rows := make([][]string, len(found.Several))
	for i, line := range found.Several {
		number, rest, _ := strings.Cut(line, "\t")
		rows[i] = []string{number, rest}
	}
	table := func(w io.Writer, st term.Style) error { return term.Table(w, st, nil, rows) }
	if o.dryRun && isValid {
		raw := jsonraw.ListOf(rows, func(row []string) []byte {
			var b jsonraw.Builder
			b.Text("pick", row[0])
			b.Text("server", row[1])
			return b.Bytes()
		})
		return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(jsonraw.With(nil, "choices", raw), table))
	}
	_ = table(f.Stderr(), f.ErrStyle)
	if !isValid {
		return usage.New("--pick "+o.pick+" is not in the list", "choose one of its numbers")
	}
	return usage.New(found.From+" has several servers, or several ways to use one", "choose one with --pick NUMBER")
}

// server returns the selected server as a session stores it, with the values that the user gave for
// inputs. Relative paths of its command belong to the current directory.
func (d *described) server(values card.Values, approved bool) (*connect.CardServer, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	s := &connect.CardServer{
		Entry:    d.plan.Entry(d.Server.Name),
		File:     d.From,
		Folder:   folder,
		Given:    map[string]string{},
		Approved: approved,
	}
	for _, in := range d.plan.Inputs {
		if given := values.Given[in.ID]; len(given) > 0 {
			s.Given[in.ID] = given[0] // an input that the plan refers to has one value
		}
	}
	return s, nil
}

// facts returns what the card says about the server, in addition to its command or URL.
func (d *described) facts(f *cmdutil.Factory) [][]string {
	s := d.Server
	name := strings.TrimSpace(s.Name + " " + s.Version)
	if s.Title != "" {
		name = s.Title + " (" + name + ")"
	}
	status := s.Status
	if s.StatusMessage != "" {
		status += ": " + s.StatusMessage
	}
	rows := [][]string{{"server", name}, {"status", status}, {"revisions", strings.Join(d.choice.Revisions, ", ")}}
	for _, in := range d.plan.Inputs {
		what := "required"
		if in.Secret {
			what += ", secret"
		}
		rows = append(rows, []string{"input", fmt.Sprintf("%s: %s (%s)", in.ID, what, host.InputEnv(in.ID))})
	}
	for _, list := range [][]card.Setting{d.plan.Env, d.plan.Headers} {
		for _, s := range list {
			if !d.plan.RefersToInput(s.Value) { // otherwise it is listed as an input
				rows = append(rows, []string{"sets", s.Name + "=" + s.Value})
			}
		}
	}
	rows = append(rows, []string{"optional inputs", strings.Join(d.plan.Unset, ", ")})
	for _, text := range d.plan.Warnings {
		rows = append(rows, []string{"warning", text})
	}
	for _, text := range d.plan.Instructions {
		rows = append(rows, []string{"to do by hand", text})
	}
	for _, row := range rows {
		row[1] = f.Secrets.Text(row[1]) // with secrets hidden
	}
	return rows
}

// asConfigured returns the server of a card as a configured server.
func asConfigured(s *connect.CardServer) target.Server {
	return target.Servers(target.CardClient, s.File, s.Folder, s.Entry)[0]
}

// show prints the server of the card, and how mcpc would use it, without running or contacting it.
func (d *described) show(ctx context.Context, f *cmdutil.Factory, s *connect.CardServer) error {
	server := asConfigured(s)
	rows := d.facts(f)
	f.Env.LearnServer(server) // its secrets are hidden in the JSON below
	raw, err := jsonraw.Marshal(struct {
		Name         string       `json:"name"`
		Version      string       `json:"version,omitempty"`
		Status       string       `json:"status,omitempty"`
		From         string       `json:"from"`
		Kind         string       `json:"kind"`
		Command      []string     `json:"command,omitempty"`
		Env          []string     `json:"env,omitempty"`
		URL          string       `json:"url,omitempty"`
		Headers      []string     `json:"headers,omitempty"`
		Inputs       []card.Input `json:"inputs,omitempty"`
		Warnings     []string     `json:"warnings,omitempty"`
		Instructions []string     `json:"instructions,omitempty"`
	}{
		Name:         d.Server.Name,
		Version:      d.Server.Version,
		Status:       d.Server.Status,
		From:         d.From,
		Kind:         d.plan.Kind,
		Command:      f.Secrets.Command(server.Command),
		Env:          target.Names(server.Env),
		URL:          f.Secrets.Text(redact.RedactURL(server.URL)),
		Headers:      target.Names(server.Headers),
		Inputs:       d.plan.Inputs,
		Warnings:     d.plan.Warnings,
		Instructions: d.plan.Instructions,
	})
	if err != nil {
		return err
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		if err := term.Facts(w, st, rows); err != nil {
			return err
		}
		return f.WriteServer(w, st, server)
	}))
}

// compare warns of differences between the card and the running server. With --strict it returns the
// first difference as an error and warns of the others.
func (d *described) compare(f *cmdutil.Factory, name, version, revision string) error {
	var out wire.Outcome
	for _, text := range d.Server.Drift(d.choice, name, version, revision) {
		text = "the card is not up to date: " + text
		if f.Strict && out.OK() {
			out = wire.Outcome{Kind: wire.CheckFailed, Text: text, ServerName: d.From, Phase: "card"}
			continue
		}
		f.Warn(text)
	}
	return cmdutil.Exit(out)
}
