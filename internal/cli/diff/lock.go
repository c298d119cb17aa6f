package diff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/pin"
	"mcpc/internal/diff"
	"mcpc/internal/diff/lockfile"
	"mcpc/internal/diff/report"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/shellwords"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// runLock writes the lock file of one server, or of a recording of it. It replaces an existing lock
// file of the same server and shows the changes; it does not write it if nothing changed. It returns
// an error if the existing file is anything else.
func runLock(ctx context.Context, f *cmdutil.Factory, o diffOptions) error {
	name := f.Output
	if name == "" {
		name = lockfile.Name
	}
	f.Output = "" // the report goes to stdout
	l := &loader{f}
	if out := cmdutil.CheckWritable("-o", name); !out.OK() {
		return cmdutil.Exit(out)
	}
	before, err := readExistingLock(f, name)
	if err != nil {
		return err
	}
	src := source{kind: serverSource, argv: o.argv}
	if len(o.words) == 1 {
		src = l.classify(o.words[0])
	}
	s, err := l.load(ctx, src)
	if err != nil {
		return err
	}
	if s.Tools == nil && s.Prompts == nil && s.Resources == nil {
		return usage.New(
			s.name+" has no list of tools, prompts or resources to lock",
			"name a server, or a recording of mcpc list all",
		)
	}
	keepFailedLists(f, &s, before, name) // before hideSecrets: what the file has is hidden already
	hidden, out := hideSecrets(f, &s, name)
	if !out.OK() {
		return cmdutil.Exit(out)
	}
	raw := lockfile.Write(s.Snapshot)
	r := report.Report{A: name, B: s.name}
	if before != nil {
		if err := checkSameServer(name, before.Snapshot, s); err != nil {
			return err
		}
		if bytes.Equal(before.raw, raw) {
			f.Note(name + " is up to date")
			return s.listErr
		}
		agreeOnRevisions(before, &s)
		alignHidden(before, &s)
		r.Changes = diff.Compare(before.Snapshot, s.Snapshot, pin.Options())
		r.Tools, r.Sum = diff.Grown(before.Snapshot, s.Snapshot)
	}
	if err := cmdutil.ReplaceFile(name, raw); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+name, usage.Bare(err)))
	}
	if hidden > 0 {
		f.Warn("secrets are hidden in " + english.Plural(hidden, "place") + " of " + name + ", which is not compared there")
	}
	if before == nil {
		f.Note("wrote " + name + ": " + describeCounts(s.Snapshot))
		return s.listErr
	}
	f.Note("replaced " + name + ": " + r.Summary())
	err = o.finish(ctx, f, r, name)
	return cmdutil.Join(s.listErr, err)
}

// keepFailedLists copies to s the lists that could not be fetched from before, the previous lock file,
// and warns about each. before is nil if there is no such file; the lists are then missing. name is
// the name of the lock file.
func keepFailedLists(f *cmdutil.Factory, s, before *side, name string) {
	if s.listErr == nil {
		return
	}
	for _, k := range lists {
		if *k.entries(&s.Snapshot) != nil { // it was fetched
			continue
		}
		warning := name + " does not have the " + k.part + ", which could not be listed"
		if before != nil && *k.entries(&before.Snapshot) != nil {
			*k.entries(&s.Snapshot) = *k.entries(&before.Snapshot)
			warning = name + " keeps the " + k.part + " that it had: they could not be listed"
			if ttl, known := before.TTL[k.member()]; known {
				setTTL(&s.Snapshot, k.member(), strconv.AppendInt(nil, ttl, 10))
			}
		}
		f.Warn(warning)
	}
}

// hideSecrets hides the secrets in the declarations of a server before they are written to a file,
// and returns the number of hidden places. The outcome is a refusal if the definitions contain
// texts that look like placeholders for secrets, since such texts are never compared.
func hideSecrets(f *cmdutil.Factory, s *side, name string) (hidden int, out wire.Outcome) {
	refused := func(text string) wire.Outcome {
		return wire.Outcome{
			Kind: wire.Refused, Phase: "output", Text: text + ", so " + name + " was not written",
			Hint: wire.RunOnServer("list --json") + " shows them",
		}
	}
	if f.Secrets.Withholds() { // some secrets are no longer known
		return 0, refused("more secrets were sent than can be recognized in the server's definitions")
	}
	hide := func(raw *json.RawMessage) {
		if s.isLive && redact.HasHiddenParts(string(*raw)) { // in a recording, mcpc has hidden them
			out = refused("the server's definitions have text that looks like a hidden secret")
		}
		safe, n := f.Secrets.Bytes(*raw)
		hidden += n
		if n > 0 && jsonraw.Valid(safe) != nil { // such as a secret that is a number
			out = refused("the server's definitions contain a secret that cannot be hidden in JSON")
		}
		*raw = safe
	}
	for _, part := range []*json.RawMessage{&s.Implementation, &s.Capabilities, &s.Instructions} {
		hide(part)
	}
	for _, k := range lists {
		entries := slices.Clone(*k.entries(&s.Snapshot))
		for i := range entries {
			hide(&entries[i])
		}
		if entries != nil {
			*k.entries(&s.Snapshot) = entries
		}
	}
	return hidden, out
}

// readExistingLock reads the lock file to replace, as a side. It returns nil and no error if there is
// no such file, and an error if the file cannot be read or is not a lock file.
func readExistingLock(f *cmdutil.Factory, name string) (*side, error) {
	if !cmdutil.IsFile(name) {
		return nil, nil
	}
	raw, err := f.Env.ReadFile(name, maxLockFile)
	if err != nil {
		return nil, cmdutil.Exit(usage.LocalIO("reading "+name, usage.Bare(err)))
	}
	snapshot, err := lockfile.Parse(raw)
	if failed, ok := errors.AsType[*lockfile.Error](err); ok {
		hint := "-o FILE writes to another file; rm " + shellwords.Quote(name) + " removes this one"
		if failed.Reason == lockfile.Newer {
			hint = "use a newer mcpc; -o FILE writes to another file"
		}
		return nil, usage.New(name+" is not replaced: "+failed.Text, wire.Hint(hint))
	}
	return &side{name: name, Snapshot: snapshot, isProbed: true, raw: raw}, nil
}

// checkSameServer returns an error if the lock file to replace belongs to another server, by the names
// in the server info. A missing name agrees with each.
func checkSameServer(name string, before diff.Snapshot, now side) error {
	locked, _ := jsonraw.Text(jsonraw.First(before.Implementation, "name"))
	current, _ := jsonraw.Text(jsonraw.First(now.Implementation, "name"))
	isUnknown := locked == "" || current == ""
	if isUnknown || locked == current {
		return nil
	}
	return usage.New(name+" is not replaced: it is the lock file of "+locked+", and this server is "+current,
		"-o FILE writes to another file; rm "+wire.Hint(shellwords.Quote(name))+" removes this one")
}

// describeCounts returns the number of entries of each list as a text.
func describeCounts(s diff.Snapshot) string {
	var counts []string
	for _, k := range lists {
		if n := len(*k.entries(&s)); n > 0 {
			counts = append(counts, english.Plural(n, k.One))
		}
	}
	if counts == nil {
		return "no entries"
	}
	return strings.Join(counts, ", ")
}
