package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/saved"
	"mcpc/internal/state"
	"mcpc/internal/wire"
)

// answering are the flags that say how to answer what a server asks. It is what
// a session remembers of them.
type answering = state.Answering

// addAnswering declares them on a command that talks to a server.
func (a *app) addAnswering(f *pflag.FlagSet) {
	f.StringArrayVar(&a.answers.Answers, "answer", nil, "`answer` a form: FIELD=VALUE, JSON or @FILE (help answering)")
	f.BoolVar(&a.answers.Defaults, "answer-defaults", false, "answer a form with its defaults")
	f.BoolVar(&a.answers.Decline, "decline", false, "decline every form and page")
	f.StringVar(&a.answers.OnElicit, "on-elicit", "", "shell `command` that answers forms and pages (params on stdin)")
	f.StringVar(&a.answers.Sampling, "sampling", "", "`file` with the sampling result; - is the terminal or stdin")
	f.StringVar(&a.answers.OnSampling, "on-sampling", "", "shell `command` that answers sampling (params on stdin)")
	f.StringArrayVar(&a.answers.Roots, "root", nil, "`dir`ectory to offer as a root")
}

// elicits, samples and shows report which parts of an answering are set.
func elicits(f answering) bool { return scripted(f) || f.Decline || f.OnElicit != "" }

func scripted(f answering) bool { return len(f.Answers) > 0 || f.Defaults }

func samples(f answering) bool { return f.Sampling != "" || f.OnSampling != "" }

// settle checks the flags of this run, makes their paths absolute, and fills in
// what the session remembers where this run says nothing.
func settle(now answering, before *answering) (answering, error) {
	if err := contradiction(now); err != nil {
		return now, err
	}
	if err := absolute(&now); err != nil {
		return now, err
	}
	return behind(now, before), nil
}

// behind fills in what the session remembers where the flags say nothing.
func behind(now answering, before *answering) answering {
	if before == nil {
		return now
	}
	if !elicits(now) {
		now.Answers, now.Defaults, now.Decline, now.OnElicit = before.Answers, before.Defaults, before.Decline, before.OnElicit
	}
	if !samples(now) {
		now.Sampling, now.OnSampling = before.Sampling, before.OnSampling
	}
	if len(now.Roots) == 0 {
		now.Roots = before.Roots
	}
	return now
}

// asSaved puts flags into a file of saved calls, as they were typed. Of a secret it gets
// a variable.
func asSaved(flags answering, f *saved.File, variable func(string) string) {
	text := func(s string) string { return saved.LiteralText(s, variable) }
	value := func(raw json.RawMessage) json.RawMessage { return saved.Literal(raw, variable) }
	var items []json.RawMessage
	for _, answer := range flags.Answers {
		raw := json.RawMessage(answer)
		list, notList := wire.Array(raw)
		switch {
		case notList == nil:
			items = append(items, mapped(list, value)...)
		case wire.Valid(raw) == nil && raw[0] == '{':
			items = append(items, value(raw))
		default:
			items = append(items, wire.Quote(text(answer)))
		}
	}
	switch len(items) {
	case 0:
		f.Answer = nil
	case 1:
		f.Answer = items[0]
	default:
		f.Answer = asList(items)
	}
	f.Answering = saved.Answering{Defaults: flags.Defaults, Decline: flags.Decline, OnElicit: text(flags.OnElicit),
		Sampling: text(flags.Sampling), OnSampling: text(flags.OnSampling), Roots: mapped(flags.Roots, text)}
}

func contradiction(f answering) error {
	ways := 0
	for _, set := range []bool{scripted(f), f.Decline, f.OnElicit != ""} {
		if set {
			ways++
		}
	}
	switch {
	case ways > 1:
		return hintedError{"a form has one answer: --answer and --answer-defaults, --decline, or --on-elicit", "use only one of them"}
	case f.Sampling != "" && f.OnSampling != "":
		return hintedError{"use --sampling or --on-sampling, not both", "use only one of them"}
	}
	return nil
}

// absolute makes what names a file good in every directory.
func absolute(f *answering) error {
	var failed error
	path := func(name string) string {
		full, err := filepath.Abs(name)
		failed = cmp.Or(failed, err)
		return full
	}
	f.Answers = mapped(f.Answers, func(text string) string {
		if name, ok := strings.CutPrefix(text, "@"); ok && name != "-" {
			return "@" + path(name)
		}
		return text
	})
	if f.Sampling != "" && f.Sampling != "-" {
		f.Sampling = path(f.Sampling)
	}
	f.Roots = mapped(f.Roots, path)
	for _, dir := range f.Roots {
		if info, err := os.Stat(dir); failed == nil && (err != nil || !info.IsDir()) {
			return hintedError{fmt.Sprintf("--root: there is no directory %s", dir), ""}
		}
	}
	return failed
}

// offer are the ClientCapabilities that can be honoured: by flags, and by
// a person at the terminal.
func offer(f answering, person bool) json.RawMessage {
	modes, all := json.RawMessage("{}"), json.RawMessage("{}")
	form, page := elicits(f) || person, f.Decline || f.OnElicit != "" || person
	if form {
		modes = wire.With(modes, "form", json.RawMessage("{}"))
	}
	if page {
		modes = wire.With(modes, "url", json.RawMessage("{}"))
	}
	if form {
		all = wire.With(all, "elicitation", modes)
	}
	if samples(f) {
		all = wire.With(all, "sampling", json.RawMessage("{}"))
	}
	if len(f.Roots) > 0 {
		all = wire.With(all, "roots", json.RawMessage("{}"))
	}
	return all
}

// canAsk reports whether a person may be asked in the middle of a command.
func (a *app) canAsk() bool { return a.interactive() && a.getenv("CI") == "" }
