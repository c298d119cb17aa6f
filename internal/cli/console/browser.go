package console

import (
	"context"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/client/process"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/jsonraw"
	"mcpc/internal/question"
)

// VisitPage shows the full URL of a page that the server wants the user to visit, and opens it if
// the user agrees (client/elicitation, "Safe URL Handling"). mcpc does not fetch the page.
func (c *Console) VisitPage(ctx context.Context, q client.InputRequest, from string) client.Answer {
	page, err := question.ParsePage(q.Params)
	d := c.Dialog(ctx)
	d.Say("%s requests that you visit a page: %s", d.Line(from), d.Line(page.Message))
	d.Say("  %s", d.Line(page.URL))
	if err != nil {
		d.Say("  not opened: %s", d.Line(err.Error()))
		return elicit.Refusal("mcpc", "page, because "+err.Error(), client.Answer{Result: question.Decline()})
	}
	d.Say("  domain: %s", d.Line(page.Domain))
	for _, warning := range page.Warnings {
		d.Say("  %s %s", d.Style.Alert("warning:"), d.Line(warning))
	}
	word, err := d.Choose("Open it? [y]es, [d]ecline, [c]ancel", "", "yes", "decline", "no", "cancel")
	if err != nil || word == "cancel" {
		return client.Answer{Result: question.Cancel()}
	}
	if word != "yes" {
		return client.Answer{Result: question.Decline()}
	}
	if err := Browse(c, page.URL, nil); err != nil {
		d.Say("  cannot start a browser (%s): open the URL yourself", d.Line(err.Error()))
	}
	if q.WillRetry { // the request is sent again after this answer, so the page must be done by then
		if _, err := d.Ask("Press Enter when you are done there, Ctrl-D to cancel"); err != nil {
			return client.Answer{Result: question.Cancel()}
		}
	}
	return client.Answer{Result: question.Accept(nil)}
}

// Browse opens an address in $BROWSER or the system's browser, without a shell. The address begins
// with http, so it cannot be read as a flag. If the started program fails later, Browse calls
// onFailure unless it is nil.
func Browse(c *Console, address string, onFailure func(error)) error {
	argv := map[string][]string{
		"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"},
	}[runtime.GOOS]
	if argv == nil {
		argv = []string{"xdg-open"}
	}
	if preferred := strings.Fields(c.env.Getenv("BROWSER")); len(preferred) > 0 {
		argv = preferred
	}
	process.KeepOrphans() // orphans may be of the browser from now on
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		if err := cmd.Wait(); err != nil && onFailure != nil {
			onFailure(err)
		}
	}()
	return nil
}

// HasBrowser reports whether a browser can be opened: not on a machine without a display, unless the
// user names a browser.
func HasBrowser(c *Console) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return true
	}
	isSet := func(name string) bool { return c.env.Getenv(name) != "" }
	return slices.ContainsFunc([]string{"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"}, isSet)
}

// ShowCode returns a function that shows, for a login with --grant device, the address of a page and
// the code to enter there, in a browser on any machine.
func ShowCode(c *Console) func(ctx context.Context, address, code string) {
	return func(_ context.Context, address, code string) {
		shown := c.ErrStyle.Line(jsonraw.Excerpt([]byte(code), host.MostSaid))
		c.Note("open " + c.ErrStyle.Line(address) + " in any browser that can reach it and enter the code " + shown)
		WarnOfAddress(c, address)
	}
}

// ChooseIssuer returns a function that asks the user which authorization server to log in to, until
// the user types its number. Its error is from reading the answer.
func ChooseIssuer(c *Console) func(ctx context.Context, issuers []string) (string, error) {
	return func(ctx context.Context, issuers []string) (string, error) {
		d := c.Dialog(ctx)
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

// Visitor returns a function that shows the address of the login page and opens it in a browser. If
// no browser can be started, it prints a note for the user at a terminal. Without a terminal it
// sends the error to unopened, so that the login can end, unless unopened is nil.
func Visitor(c *Console, unopened chan<- error) func(context.Context, string) {
	noBrowser := func(err error) {
		if !c.ErrStyle.Terminal && unopened != nil {
			unopened <- err
			return
		}
		c.Note("cannot start a browser (" + err.Error() +
			"): open the URL yourself, or run mcpc login with --no-browser or --grant device")
	}
	failedLater := func(err error) {
		if c.env.IsConnected.Load() { // not after the login has ended
			noBrowser(err)
		}
	}
	return func(_ context.Context, address string) {
		c.Note("log in here: " + c.ErrStyle.Line(address))
		WarnOfAddress(c, address)
		if err := Browse(c, address, failedLater); err != nil {
			noBrowser(err)
		}
	}
}

// WarnOfAddress warns if an address may not be what it seems.
func WarnOfAddress(c *Console, address string) {
	for _, odd := range question.Oddities(address) {
		c.Warn(c.ErrStyle.Line(odd))
	}
}
