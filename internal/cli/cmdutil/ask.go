package cmdutil

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"runtime"
	"strings"

	"mcpc/internal/cli/prompt"
	"mcpc/internal/client"
	"mcpc/internal/client/process"
	"mcpc/internal/connect/elicit"
	"mcpc/internal/connect/host"
	"mcpc/internal/question"
	"mcpc/internal/wire"
)

// FillForm has the user fill in a form.
func (f *Factory) FillForm(ctx context.Context, q client.Asking, from string, check host.FormCheck) client.Answer {
	form, err := question.ParseForm(q.Params)
	if err != nil {
		return elicit.NoForm(err)
	}
	d := f.dialog(ctx)
	if f.forms++; f.forms > 1 {
		d.Say("") // parts it from the one before
	}
	asked := prompt.Form{Dialog: d, Form: form, Asker: from, Broken: check}
	return client.Answer{Result: asked.Run()}
}

// FillArguments asks for arguments of a tool, nil where the user gives up.
func (f *Factory) FillArguments(ctx context.Context, tool string, form question.Form, check host.FormCheck) map[string]json.RawMessage {
	d := prompt.Form{Dialog: f.dialog(ctx), Form: form, Asker: tool, Broken: check}
	return d.Arguments()
}

// VisitPage shows a page that the server wants visited, whole, and opens it after a
// yes (client/elicitation, "Safe URL Handling"). Nothing is fetched: what happens
// on the page is between the user and the website.
func (f *Factory) VisitPage(ctx context.Context, q client.Asking, from string) client.Answer {
	page, err := question.ParsePage(q.Params)
	d := f.dialog(ctx)
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
	switch word, err := d.Choose("Open it? [y]es, [d]ecline, [c]ancel", "", "yes", "decline", "no", "cancel"); {
	case err != nil || word == "cancel":
		return client.Answer{Result: question.Cancel()}
	case word != "yes":
		return client.Answer{Result: question.Decline()}
	}
	if err := browse(f, page.URL, nil); err != nil {
		d.Say("  cannot start a browser (%s): open the URL yourself", d.Line(err.Error()))
	}
	if q.Again {
		if _, err := d.Ask("Press Enter when you are done there, Ctrl-D to cancel"); err != nil {
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

// WriteMessage has the person at the terminal be the model: the request is shown, and
// what is typed is the answer, unless it is declined (client/sampling, "Human in
// the loop").
func (f *Factory) WriteMessage(ctx context.Context, q client.Asking, from string) client.Answer {
	d := f.dialog(ctx)
	d.Say("%s requests a model's answer (sampling):", d.Line(from))
	d.ShowMessages(q.Params)
	d.Say("Type the answer. Ctrl-D or a line with a single dot ends it;")
	d.Say("Ctrl-D on an empty answer declines, Ctrl-C ends the command.")
	var lines []string
	declined := client.Answer{Declined: true, Ending: wire.Outcome{Kind: wire.InputRequired, Text: "you declined " + q.Method}}
	for {
		text, err := d.Ask("")
		if text == "." || errors.Is(err, io.EOF) && len(lines) > 0 {
			break
		}
		if err != nil {
			return declined
		}
		lines = append(lines, text)
	}
	message, err := question.Message(q.Params, []byte(strings.Join(lines, "\n")))
	if err != nil {
		return client.Answer{Ending: wire.Outcome{Kind: wire.InvalidArguments, Text: err.Error(), Hint: wire.Run("help answering")}}
	}
	if word, err := d.Choose("[s]end (Enter), [d]ecline", "send", "send", "decline"); err != nil || word != "send" {
		return declined
	}
	return client.Answer{Result: message}
}

// dialog opens one at the terminal. Its lines end with ctx: a Ctrl-C is the command's,
// also where more questions wait behind this one.
func (f *Factory) dialog(ctx context.Context) *prompt.Dialog {
	d := &prompt.Dialog{Out: f.Stderr(), Style: f.ErrStyle, Line: f.ErrStyle.Line, Wrap: f.ErrStyle.Wrap}
	d.Next = func() (string, error) {
		text, err := f.Typist.Line(ctx)
		if err != nil {
			d.Say("")
		}
		f.Progress.Newline()
		return text, err
	}
	return d
}
