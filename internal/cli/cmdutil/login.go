package cmdutil

import (
	"context"
	"strings"

	"mcpc/internal/cli/console"
	"mcpc/internal/client/auth"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
)

// OfferLogin asks the user at the terminal to log in, in the middle of a command, and reports
// whether the login succeeded. It returns false without an error if the user says no. Timeouts of
// requests are paused until it returns.
func (f *Factory) OfferLogin(ctx context.Context, r auth.Refusal) (bool, error) {
	resume := transport.Pause(ctx)
	defer resume()
	dialog := f.Dialog(ctx)
	reason := "requires authentication"
	if r.Sent && len(r.Scopes) > 0 { // a token was sent, and is not enough
		scopes := jsonraw.Excerpt([]byte(strings.Join(r.Scopes, " ")), host.MostSaid)
		reason = "requires more scopes: " + dialog.Line(scopes)
	}
	dialog.Say("%s %s.", dialog.Line(redact.RedactURL(f.Guard.Endpoint)), reason)
	word, err := dialog.Choose("Log in now? [y]es, [n]o", "", "yes", "no")
	if err != nil || word != "yes" { // without a terminal the answer is no
		return false, nil
	}
	store, err := f.Env.Tokens()
	if err != nil {
		return false, err
	}
	store.Seals = store.Keyring.IsAvailable() // encrypts the new tokens
	flow := connect.NewAuthFlow(ctx, &f.Env, f.Guard.Endpoint)
	defer flow.Net.Close()
	_, err = flow.Login(ctx, store, auth.Request{
		Endpoint:   f.Guard.Endpoint,
		Account:    f.Auth.Account,
		Challenge:  r.Challenge,
		Challenged: true,
		Visit:      console.Visitor(&f.Console, nil),
		ShowCode:   console.ShowCode(&f.Console),
		Choose:     console.ChooseIssuer(&f.Console),
	})
	return err == nil, err
}
