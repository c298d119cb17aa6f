package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	var items []json.RawMessage
	for _, text := range flags.Answers {
		item := wire.Quote(saved.LiteralText(text, variable))
		if raw := json.RawMessage(text); wire.Valid(raw) == nil && raw[0] == '{' {
			item = saved.Literal(raw, variable)
		} else if list, err := wire.Array(raw); err == nil {
			for _, one := range list {
				items = append(items, saved.Literal(one, variable))
			}
			continue
		}
		items = append(items, item)
	}
	if f.Answer = asList(items); len(items) == 1 {
		f.Answer = items[0]
	} else if items == nil {
		f.Answer = nil
	}
	text := func(s string) string { return saved.LiteralText(s, variable) }
	f.Answering = saved.Answering{Defaults: flags.Defaults, Decline: flags.Decline,
		OnElicit: text(flags.OnElicit), Sampling: text(flags.Sampling), OnSampling: text(flags.OnSampling)}
	for _, dir := range flags.Roots {
		f.Answering.Roots = append(f.Answering.Roots, text(dir))
	}
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
	f.Answers, f.Roots = slices.Clone(f.Answers), slices.Clone(f.Roots)
	for i, text := range f.Answers {
		if name, ok := strings.CutPrefix(text, "@"); ok && name != "-" {
			path, err := filepath.Abs(name)
			if err != nil {
				return err
			}
			f.Answers[i] = "@" + path
		}
	}
	if f.Sampling != "" && f.Sampling != "-" {
		path, err := filepath.Abs(f.Sampling)
		if err != nil {
			return err
		}
		f.Sampling = path
	}
	for i, dir := range f.Roots {
		path, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return hintedError{fmt.Sprintf("--root: there is no directory %s", path), ""}
		}
		f.Roots[i] = path
	}
	return nil
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
