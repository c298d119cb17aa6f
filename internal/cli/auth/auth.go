// Package auth has the commands login, logout and auth.
package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/meant"
	"mcpc/internal/client"
	"mcpc/internal/client/auth"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render"
	"mcpc/internal/render/term"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

func NewAuth(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth [COMMAND]",
		Short: "list stored tokens, or explain how a server's login works",
		Long: `List the stored tokens: server, issuer, scopes and expiry. The tokens themselves
are never shown.`,
		Example: `  mcpc auth
  mcpc auth --json
  mcpc auth --jq '.tokens[].issuer'`,
		Args: func(cmd *cobra.Command, args []string) error { return meant.UnknownCommand(f, cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return whoAmI(cmd.Context(), f)
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:               "explain [TARGET]",
		ValidArgsFunction: f.CompleteTarget,
		Short:             "check each step of a server's login, and which rule it breaks",
		Long: `Check the steps of a login up to the browser: the challenge, the resource
metadata, the authorization server metadata. Each document is shown, and each
rule with pass or fail. Nothing is registered and no login is started. A broken
rule makes exit code 1; a server without authentication breaks none. The default
TARGET is the server that rejected the last command, as for mcpc login.`,
		Example: `  mcpc auth explain https://mcp.example/mcp
  mcpc auth explain https://mcp.example/mcp --json
  mcpc auth explain https://mcp.example/mcp -v`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneTarget(f, args); err != nil {
				return err
			}
			return explainAuth(cmd.Context(), f)
		},
	}, newImport(f), newExport(f))
	return cmd
}

func whoAmI(ctx context.Context, f *cmdutil.Factory) error {
	store, err := f.Env.Tokens()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	book, err := store.Load()
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	facts := []tokenJSON{}
	rows := [][]string{}
	for _, t := range book.Tokens {
		fact := tokenFacts(t)
		facts = append(facts, fact)
		rows = append(
			rows,
			[]string{
				fact.Server,
				cmp.Or(fact.Account, "-"),
				fact.Issuer,
				cmp.Or(strings.Join(fact.Scopes, " "), "-"),
				whenExpires(f, t),
				fact.Kept,
			},
		)
	}
	raw, _ := json.Marshal(map[string]any{"tokens": facts})
	ans := cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"SERVER", "ACCOUNT", "ISSUER", "SCOPES", "EXPIRES", "STORE"}, rows)
	})
	if len(rows) == 0 {
		f.Note("no tokens are stored: mcpc login TARGET gets one")
	}
	if p := book.Pending; p != nil {
		what := "authentication"
		if c, _ := auth.Wanted(auth.ParseChallenges(p.Fields)); p.Status == http.StatusForbidden && len(c.Scopes()) > 0 {
			what = fmt.Sprintf("a token with scope %q", jsonraw.Excerpt([]byte(strings.Join(c.Scopes(), " ")), host.MostSaid))
		}
		f.Note(redact.RedactURL(p.Endpoint) + " requires " + what + ": run mcpc login")
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, ans)
}

// openAsNobody opens a conversation without a token, and closes it: the guard has
// then seen whether the server asks for one.
func openAsNobody(ctx context.Context, c *connect.Conn) (*auth.Transport, wire.Outcome) {
	g := &auth.Transport{Now: c.Env.Now}
	opt, out := c.ClientOptions(ctx, connect.Options{NoResume: true, RequireServerInfo: true})
	if !out.Good() {
		return g, out
	}
	c.Env.Guard = nil
	opt.Through = g.Over
	opt.Extensions = nil
	session, out := client.Open(ctx, opt)
	if out.Good() {
		session.Close(ctx, true)
	}
	return g, out
}

// stepJSON is a step as a script reads it.
type stepJSON struct {
	URL      string          `json:"url,omitempty"`
	Status   int             `json:"status,omitempty"`
	Document json.RawMessage `json:"document,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	OK       bool            `json:"ok"`
	Text     string          `json:"text,omitempty"`
}

// explainAuth walks through the authorization up to the first prompt, and shows every step.
func explainAuth(ctx context.Context, f *cmdutil.Factory) error {
	f.Record.Many = true // it judges the walk, and not the request that was refused
	if store, err := f.Env.Tokens(); err == nil {
		book, _ := store.Load() // what is not readable has no challenge
		meanRefused(f, book)
	}
	c, out := namedServer(ctx, f)
	if !out.Good() {
		return cmdutil.Exit(out)
	}
	endpoint := cmp.Or(c.Saved, c.OneOff).Endpoint
	if endpoint == "" || endpoint == connect.DemoEndpoint {
		return usage.New("only HTTP servers use OAuth", wire.Run("auth explain https://…"))
	}
	g, out := openAsNobody(ctx, c)
	r := g.Unsolved()
	if r == nil && !out.Good() {
		return cmdutil.Exit(out)
	}
	var steps []auth.Step
	w := connect.NewAuthFlow(ctx, &f.Env, endpoint)
	defer w.Net.Close()
	w.OnStep = func(s auth.Step) { steps = append(steps, s) }
	req := auth.Request{Endpoint: endpoint, Grant: auth.AuthorizationCode}
	steps = append(steps, challengeStep(endpoint, r))
	if r != nil {
		req.Challenge = r.Challenge
		req.Challenged = true
	}
	found, err := w.Discover(ctx, req, auth.Records{})
	if err == nil {
		steps = append(steps, auth.Step{Text: waysIn(found)})
	}
	return showSteps(ctx, f, steps, err)
}

// challengeStep is what the server said to a request without a token.
func challengeStep(endpoint string, r *auth.Refusal) auth.Step {
	if r == nil {
		return auth.Step{URL: redact.RedactURL(endpoint), Text: "the server accepted a request without a token"}
	}
	return auth.Step{
		URL:    redact.RedactURL(endpoint),
		Status: r.Status,
		Text:   "WWW-Authenticate: " + cmp.Or(strings.Join(r.Fields, ", "), "(none)"),
	}
}

// waysIn says how mcpc can become known to the server.
func waysIn(found auth.Found) string {
	ways := []string{"--client-id with a registered client"}
	if found.Server.Documents {
		ways = append(ways, "--client-metadata-url")
	}
	if found.Server.Registration != "" {
		ways = append(ways, "dynamic client registration")
	}
	return "supported client registration: " + strings.Join(ways, "; ")
}

// showSteps prints the walk, as far as it came. A rule that is broken is the answer
// "no", and what could not be fetched an ending of its own.
func showSteps(ctx context.Context, f *cmdutil.Factory, steps []auth.Step, err error) error {
	all := []stepJSON{}
	for i, s := range steps {
		s.URL, s.Text = f.Secrets.Text(s.URL), f.Secrets.Text(s.Text) // the endpoint's own, which servers repeat
		s.Document, _ = f.Secrets.Bytes(s.Document)
		steps[i] = s
		doc := json.RawMessage(s.Document)
		if jsonraw.Valid(doc) != nil {
			doc = nil
		}
		all = append(all, stepJSON{s.URL, s.Status, doc, s.Rule, !s.Broken, s.Text})
	}
	raw, _ := json.Marshal(map[string]any{"steps": all})
	out := wire.Outcome{}
	if at := slices.IndexFunc(steps, func(s auth.Step) bool { return s.Tolerated }); at >= 0 {
		out = wire.Outcome{Kind: wire.CheckFailed, Phase: "authorization", Text: steps[at].Text + "; mcpc login warns of it"}
	}
	if err != nil {
		out = connect.AuthFailed(err, wire.Outcome{})
		switch {
		case auth.Is(err, auth.NotAsked):
			out = wire.Outcome{}
		case auth.Is(err, auth.Unreachable):
			out.Kind = wire.Transport
		case out.Kind == wire.Auth || out.Kind == wire.Refused:
			out.Kind = wire.CheckFailed
		}
	}
	err = cmdutil.Print(ctx, f, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		for _, s := range steps {
			if err := showStep(w, st, s); err != nil {
				return err
			}
		}
		return nil
	}))
	return cmdutil.Join(err, cmdutil.Exit(out))
}

func showStep(w io.Writer, st term.Style, s auth.Step) error {
	if _, err := fmt.Fprintln(w, st.Line(connect.StepLine(s))); err != nil {
		return err
	}
	if s.Document == nil || jsonraw.Valid(s.Document) != nil {
		return nil
	}
	return render.JSON(w, st, s.Document)
}
