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

// NewAuth returns the command auth with its subcommands.
func NewAuth(f *cmdutil.Factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "auth [COMMAND]",
		Short: "list and delete stored tokens, or explain a server's login",
		Long: `List the stored tokens: server, issuer, scopes and expiry. The tokens
themselves are never shown.`,
		Example: `  mcpc auth
  mcpc auth --json
  mcpc auth --jq '.tokens[].issuer'`,
		Args: func(cmd *cobra.Command, args []string) error { return meant.UnknownCommand(f, cmd, args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listTokens(cmd.Context(), f)
		},
	}
	cmd.AddCommand(&cobra.Command{
		Use:               "explain [TARGET]",
		ValidArgsFunction: f.CompleteTarget,
		Short:             "check each step of a server's login, and which rule it breaks",
		Long: `Check the steps of a login up to the browser: the challenge, the resource
metadata, the authorization server metadata. Each document is shown, and each
rule with pass or fail. mcpc registers no client and starts no login. If a rule
is broken, the exit code is 1; a server without authentication breaks no rule.
The default TARGET is the server that rejected the last command, as for mcpc
login.`,
		Example: `  mcpc auth explain https://mcp.example/mcp
  mcpc auth explain https://mcp.example/mcp --json
  mcpc auth explain https://mcp.example/mcp -v`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := setTarget(f, args); err != nil {
				return err
			}
			return explainAuth(cmd.Context(), f)
		},
	}, NewLogout(f), newImport(f), newExport(f))
	cmdutil.AddListName(cmd, "status")
	return cmd
}

// listTokens lists the stored tokens, and notes a pending challenge.
func listTokens(ctx context.Context, f *cmdutil.Factory) error {
	store, err := f.Env.Tokens()
	if err != nil {
		return cmdutil.Exit(connect.StateFailed(err))
	}
	records, err := store.Load()
	if err != nil {
		return cmdutil.Exit(connect.AuthFailed(err, wire.Outcome{}))
	}
	facts := []tokenJSON{}
	rows := [][]string{}
	for _, t := range records.Tokens {
		fact := tokenFacts(t)
		facts = append(facts, fact)
		rows = append(rows, []string{
			fact.Server, cmp.Or(fact.Account, "-"), fact.Issuer,
			cmp.Or(strings.Join(fact.Scopes, " "), "-"), expiryText(f, t), fact.Kept,
		})
	}
	raw, _ := json.Marshal(map[string]any{"tokens": facts})
	ans := cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		return term.Table(w, st, []string{"SERVER", "ACCOUNT", "ISSUER", "SCOPES", "EXPIRES", "STORE"}, rows)
	})
	if len(rows) == 0 {
		f.Note("no tokens are stored: mcpc login TARGET gets one")
	}
	if p := records.Pending; p != nil {
		what := "authentication"
		c, _ := auth.SelectChallenge(auth.ParseChallenges(p.Fields))
		if p.Status == http.StatusForbidden && len(c.Scopes()) > 0 {
			what = fmt.Sprintf("a token with scope %q", jsonraw.Excerpt([]byte(strings.Join(c.Scopes(), " ")), host.MostSaid))
		}
		f.Note(redact.RedactURL(p.Endpoint) + " requires " + what + ": run mcpc login")
	}
	return cmdutil.Show(ctx, f, wire.Outcome{}, ans)
}

// A stepJSON is a step of a login in JSON output.
type stepJSON struct {
	URL      string          `json:"url,omitempty"`
	Status   int             `json:"status,omitempty"`
	Document json.RawMessage `json:"document,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	OK       bool            `json:"ok"`
	Text     string          `json:"text,omitempty"`
}

// explainAuth runs a login up to the first prompt and shows its steps.
func explainAuth(ctx context.Context, f *cmdutil.Factory) error {
	f.Record.Many = true // the outcome is not that of the refused request
	if store, err := f.Env.Tokens(); err == nil {
		records, _ := store.Load() // an unreadable store has no challenge
		selectRejecting(f, records)
	}
	c, out := connect.FindLoginServer(ctx, &f.Env)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	endpoint := c.LoginEndpoint()
	if endpoint == "" {
		return usage.New("only HTTP servers use OAuth", wire.Run("auth explain https://…"))
	}
	transport, out := c.OpenWithoutToken(ctx)
	refusal := transport.Unsolved()
	if refusal == nil && !out.OK() {
		return cmdutil.Exit(out)
	}
	var steps []auth.Step
	flow := connect.NewAuthFlow(ctx, &f.Env, endpoint)
	defer flow.Net.Close()
	flow.OnStep = func(s auth.Step) { steps = append(steps, s) }
	req := auth.Request{Endpoint: endpoint, Grant: auth.AuthorizationCode}
	steps = append(steps, challengeStep(endpoint, refusal))
	if refusal != nil {
		req.Challenge = refusal.Challenge
		req.Challenged = true
	}
	found, err := flow.Discover(ctx, req, auth.Records{})
	if err == nil {
		steps = append(steps, auth.Step{Text: registrationText(found)})
	}
	return showSteps(ctx, f, steps, err)
}

// challengeStep returns the step for the server's response to a request without a token. r is nil if
// the server accepted the request.
func challengeStep(endpoint string, r *auth.Refusal) auth.Step {
	if r == nil {
		return auth.Step{URL: redact.RedactURL(endpoint), Text: "the server accepted a request without a token"}
	}
	fields := strings.Join(r.Fields, ", ")
	if fields == "" {
		fields = "(none)"
	}
	return auth.Step{URL: redact.RedactURL(endpoint), Status: r.Status, Text: "WWW-Authenticate: " + fields}
}

// registrationText returns how mcpc can be registered as a client at the server.
func registrationText(found auth.Found) string {
	ways := []string{"--client-id with a registered client"}
	if found.Server.Documents {
		ways = append(ways, "--client-metadata-url")
	}
	if found.Server.Registration != "" {
		ways = append(ways, "dynamic client registration")
	}
	return "supported client registration: " + strings.Join(ways, "; ")
}

// showSteps prints the steps of a login. A broken rule fails the check; a document that cannot be
// fetched is an error of its own.
func showSteps(ctx context.Context, f *cmdutil.Factory, steps []auth.Step, err error) error {
	all := []stepJSON{}
	for i, s := range steps {
		s.URL = f.Secrets.Text(s.URL) // servers may repeat the endpoint's secrets
		s.Text = f.Secrets.Text(s.Text)
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
	if i := slices.IndexFunc(steps, func(s auth.Step) bool { return s.Tolerated }); i >= 0 {
		text := steps[i].Text + "; mcpc login warns of it"
		out = wire.Outcome{Kind: wire.CheckFailed, Phase: "authorization", Text: text}
	}
	if err != nil {
		out = connect.AuthFailed(err, wire.Outcome{})
		switch {
		case auth.HasRule(err, auth.NotAsked):
			out = wire.Outcome{}
		case auth.HasRule(err, auth.Unreachable):
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

// showStep prints a step, with its document if there is one.
func showStep(w io.Writer, st term.Style, s auth.Step) error {
	if _, err := fmt.Fprintln(w, st.Line(connect.StepLine(s))); err != nil {
		return err
	}
	if s.Document == nil || jsonraw.Valid(s.Document) != nil {
		return nil
	}
	return render.JSON(w, st, s.Document)
}
