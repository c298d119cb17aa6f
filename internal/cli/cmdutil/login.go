package cmdutil

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/client/auth"
	"mcpc/internal/client/transport"
	"mcpc/internal/connect"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
	"mcpc/internal/redact"
)

// ShowCode shows the code that the user enters in a browser on any machine.
func ShowCode(f *Factory) func(ctx context.Context, address, code string) {
	return func(_ context.Context, address, code string) {
		f.Note("open " + f.ErrStyle.Line(address) + " in any browser that can reach it and enter the code " + f.ErrStyle.Line(jsonraw.Excerpt([]byte(code), host.MostSaid)))
		WarnOfAddress(f, address)
	}
}

// OfferLogin asks the user at the terminal, in the middle of a command, and reports whether
// a login was done. Request timeouts are paused meanwhile.
func (f *Factory) OfferLogin(ctx context.Context, r auth.Refusal) (bool, error) {
	defer transport.Pause(ctx)()
	d := f.dialog(ctx)
	what := "requires authentication"
	if r.Sent && len(r.Scopes) > 0 {
		what = "requires more scopes: " + d.Line(jsonraw.Excerpt([]byte(strings.Join(r.Scopes, " ")), host.MostSaid))
	}
	d.Say("%s %s.", d.Line(redact.RedactURL(f.Guard.Endpoint)), what)
	word, err := d.Choose("Log in now? [y]es, [n]o", "", "yes", "no")
	if err != nil || word != "yes" {
		return false, nil
	}
	store, err := f.Env.Tokens()
	if err != nil {
		return false, err
	}
	store.Seals = store.Keyring.Answers()
	w := connect.NewAuthFlow(ctx, &f.Env, f.Guard.Endpoint)
	defer w.Net.Close()
	_, err = w.Login(ctx, store, auth.Request{Endpoint: f.Guard.Endpoint, Account: f.Auth.Account,
		Challenge: r.Challenge, Challenged: true, Visit: Visitor(f, nil), ShowCode: ShowCode(f), Choose: ChooseIssuer(f)})
	return err == nil, err
}

// ChooseIssuer asks the user which authorization server to log in to.
func ChooseIssuer(f *Factory) func(ctx context.Context, issuers []string) (string, error) {
	return func(ctx context.Context, issuers []string) (string, error) {
		d := f.dialog(ctx)
		d.Say("The server has several authorization servers:")
		var numbers []string
		for i, issuer := range issuers {
			numbers = append(numbers, strconv.Itoa(i+1))
			d.Say("  %d  %s", i+1, d.Line(issuer))
		}
		for {
			text, err := d.Ask("Which one?")
			if err != nil {
				return "", err
			}
			if i := slices.Index(numbers, strings.TrimSpace(text)); i >= 0 {
				return issuers[i], nil
			}
			d.Say("  type a number from 1 to %d", len(issuers))
		}
	}
}

// Visitor shows where to log in, and opens it. Where no browser can be started a person at
// a terminal is told, and a program gets the error.
func Visitor(f *Factory, unopened chan<- error) func(context.Context, string) {
	noBrowser := func(err error) {
		if !f.ErrStyle.Terminal && unopened != nil {
			unopened <- err
			return
		}
		f.Note("cannot start a browser (" + err.Error() + "): open the URL yourself, or run mcpc login with --no-browser or --grant device")
	}
	failedLater := func(err error) {
		if f.Talking.Load() { // else the login has ended all the same
			noBrowser(err)
		}
	}
	return func(_ context.Context, address string) {
		f.Note("log in here: " + f.ErrStyle.Line(address))
		WarnOfAddress(f, address)
		if err := browse(f, address, failedLater); err != nil {
			noBrowser(err)
		}
	}
}

// WarnOfAddress says in what an address may be another than it seems.
func WarnOfAddress(f *Factory, address string) {
	for _, odd := range question.Oddities(address) {
		f.Warn(f.ErrStyle.Line(odd))
	}
}
