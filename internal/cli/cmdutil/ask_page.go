package cmdutil

import (
	"context"
	"os/exec"
	"runtime"
	"strings"

	"mcpc/internal/client"
	"mcpc/internal/client/process"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/question"
)

// VisitPage shows a page that the server wants visited, whole, and opens it after a
// yes (client/elicitation, "Safe URL Handling"). Nothing is fetched: what happens
// on the page is between the user and the website.
func (f *Factory) VisitPage(ctx context.Context, q client.Asking, from string) client.Answer {
	page, err := question.ParsePage(q.Params)
	d := f.dialog(ctx)
	d.say("%s requests that you visit a page: %s", d.Line(from), d.Line(page.Message))
	d.say("  %s", d.Line(page.URL))
	if err != nil {
		d.say("  not opened: %s", d.Line(err.Error()))
		return elicit.Refusal("mcpc", "page, because "+err.Error(), client.Answer{Result: question.Decline()})
	}
	d.say("  domain: %s", d.Line(page.Domain))
	for _, warning := range page.Warnings {
		d.say("  %s %s", d.style.Alert("warning:"), d.Line(warning))
	}
	switch word, err := d.choose("Open it? [y]es, [d]ecline, [c]ancel", "", "yes", "decline", "no", "cancel"); {
	case err != nil || word == "cancel":
		return client.Answer{Result: question.Cancel()}
	case word != "yes":
		return client.Answer{Result: question.Decline()}
	}
	if err := browse(f, page.URL, nil); err != nil {
		d.say("  cannot start a browser (%s): open the URL yourself", d.Line(err.Error()))
	}
	if q.Again {
		if _, err := d.ask("Press Enter when you are done there, Ctrl-D to cancel"); err != nil {
			return client.Answer{Result: question.Cancel()}
		}
	}
	return client.Answer{Result: question.Accept(nil)}
}

// browse opens an address in $BROWSER, or as the system does it. No shell sees
// the address, and the address cannot be taken for a flag: it begins with http. What
// was started may fail later; then failed is called, where that is not nil.
func browse(f *Factory, address string, failed func(error)) error {
	argv := map[string][]string{
		"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"},
	}[runtime.GOOS]
	if argv == nil {
		argv = []string{"xdg-open"}
	}
	if own := strings.Fields(f.Getenv("BROWSER")); len(own) > 0 {
		argv = own
	}
	process.KeepOrphans()
	cmd := exec.Command(argv[0], append(argv[1:len(argv):len(argv)], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		if err := cmd.Wait(); err != nil && failed != nil {
			failed(err)
		}
	}()
	return nil
}
