package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/english"
	"mcpc/internal/match"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A judgement says how responses are compared and which of their values are handles.
type judgement struct {
	Options
	bindings []match.Binding
}

// maxRules limits the bytes of a file of matchers.
const maxRules = 16 << 20

// readJudgement reads the flags and the file of matchers that say what is compared and what may
// differ.
func (o *options) readJudgement(f *cmdutil.Factory) (j judgement, err error) {
	j.Options = Options{
		Rules: &match.Rules{},
		Bytes: o.match.level == "exact",
		Level: Level(o.match.compare),
	}
	if o.parallel > 1 {
		j.Notifications = Ignored
	} else if o.match.inOrder {
		j.Notifications = InOrder
	}
	if o.match.file != "" {
		raw, err := f.Env.ReadFile(o.match.file, maxRules)
		if err != nil {
			return j, usage.NotRead("--match-file "+o.match.file, err, "--learn N --write-match FILE proposes one")
		}
		j.Rules, err = match.ParseRules(raw)
		if err != nil {
			return j, matcherFileError(o.match.file, err)
		}
	}
	extra := match.Section{Method: "*"}
	for _, text := range o.match.ignore {
		path, err := jsonvalue.ParsePath(text)
		if err != nil {
			return j, invalidPath("--ignore", text, err)
		}
		extra.Rules = append(extra.Rules,
			match.Rule{Part: match.Result, Path: path, Matcher: match.Matcher{Kind: match.Ignore}})
	}
	for _, text := range o.match.bind {
		source, target, err := parseBind(text)
		if err != nil {
			return j, invalidPath("--bind", text, err)
		}
		kind := source.String()
		again := slices.IndexFunc(j.bindings, func(b match.Binding) bool { return b.Kind == kind && b.Part == match.Result })
		if again < 0 {
			extra.Rules = append(extra.Rules, match.Rule{
				Part: match.Result, Path: source,
				Matcher: match.Matcher{Kind: match.Bound, Arg: kind},
			})
			j.bindings = append(j.bindings, match.Binding{
				Kind: kind, Part: match.Result, Select: source.Select, Named: target == nil,
			})
		} else if target == nil {
			j.bindings[again].Named = true
		}
		if target != nil {
			j.bindings = append(j.bindings, match.Binding{Kind: kind, Part: match.Params, Select: target.Select})
		}
	}
	j.Rules.Sections = append(j.Rules.Sections, extra)
	if o.match.maxSlowdown != "" {
		n, err := strconv.ParseFloat(strings.TrimSuffix(o.match.maxSlowdown, "x"), 64)
		if err != nil || !(n >= 1 && n <= 1e6) {
			return j, usage.New(fmt.Sprintf("--max-slowdown takes a factor from 1 on, not %q", o.match.maxSlowdown),
				"--max-slowdown 2x")
		}
		j.MaxSlowdown = n
	}
	return j, nil
}

// parseBind parses the value of --bind: the path in results, and after "=" the path in the params
// of later requests, which is nil if it is missing.
func parseBind(text string) (source, target jsonvalue.Path, err error) {
	source, err = jsonvalue.ParsePath(text)
	if err == nil {
		return source, nil, nil
	}
	for index := range len(text) { // a quoted name may have a "="
		if text[index] != '=' {
			continue
		}
		before, bad := jsonvalue.ParsePath(text[:index])
		if bad != nil {
			continue
		}
		target, err = jsonvalue.ParsePath(text[index+1:])
		return before, target, err
	}
	return nil, nil, err
}

// unmetMatchers returns the matchers that no exchange had a value for. It omits matchers of a file
// if a filter is set: they may be for other exchanges.
func (o *options) unmetMatchers(rules *match.Rules, met map[*match.Rule]bool) (all []string) {
	for _, s := range rules.Sections {
		for i, rule := range s.Rules {
			origin := "--ignore"
			switch {
			case met[&s.Rules[i]]:
				continue
			case rule.Place.Line > 0 && len(o.filterWords)+len(o.only) > 0:
				continue
			case rule.Place.Line > 0:
				origin = fmt.Sprintf("%s:%d", filepath.Base(o.match.file), rule.Place.Line)
			case rule.Matcher.Kind == match.Bound:
				origin = "--bind"
			}
			path := rule.Path.String()
			if rule.Place.Line > 0 {
				path = strings.Join(strings.Fields(s.Method+" "+s.Name+" "+path), " ")
			}
			all = append(all, path+" ("+origin+")")
		}
	}
	return all
}

// invalidPath returns the error for an invalid path, with a hint.
func invalidPath(flag, text string, err error) error {
	return usage.New(fmt.Sprintf("%s %s: %v", flag, text, err), wire.Hint(flag+" '"+suggestPath(flag, text)+"'"))
}

// suggestPath returns the path that is meant by a JSON pointer, or by a path without its first ".",
// in --bind also on both sides of "="; for other texts an example.
func suggestPath(flag, text string) string {
	sides := []string{text}
	if flag == "--bind" {
		sides = strings.Split(text, "=")
	}
	for i, side := range sides {
		sides[i] = "." + strings.TrimPrefix(pathOfPointer(side), ".")
	}
	suggestion := strings.Join(sides, "=")
	if _, _, err := parseBind(suggestion); err != nil || suggestion == text || suggestion == "." || strings.Contains(suggestion, "'") {
		return ".structuredContent.id"
	}
	return suggestion
}

// pathOfPointer returns a JSON pointer as a path: .items[0].id for /items/0/id. It returns other
// texts as they are.
func pathOfPointer(text string) string {
	pointer, isPointer := strings.CutPrefix(text, "/")
	if !isPointer {
		return text
	}
	var path strings.Builder
	for token := range strings.SplitSeq(pointer, "/") {
		if _, err := strconv.ParseUint(token, 10, 31); err == nil {
			path.WriteString("[" + token + "]")
		} else {
			path.WriteString("." + token)
		}
	}
	return path.String()
}

// matcherFileError returns the problems of a file of matchers with their positions.
func matcherFileError(name string, err error) error {
	problems, ok := errors.AsType[match.Problems](err)
	if !ok {
		return usage.New(name+": "+err.Error(), "")
	}
	e := &usage.Errors{Text: english.Plural(len(problems), "problem") + " in " + name}
	for _, p := range problems {
		e.Findings = append(e.Findings, wire.Finding{
			Rule:     "match",
			Severity: wire.Error,
			Pointer:  name + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ":",
			Text:     p.Text,
		})
	}
	return e
}

// checkWritable returns an error outcome if an output file cannot be written, before anything is
// sent.
func (o *options) checkWritable(f *cmdutil.Factory) wire.Outcome {
	for flag, name := range map[string]string{"--update": o.update, "--write-match": o.writeMatch} {
		if name == "" {
			continue
		}
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return usage.Outcome(usage.New(flag+" "+name+": the file exists, and is not replaced", "name a new file"))
		}
		if out := cmdutil.CheckWritable(flag, name); !out.OK() {
			return out
		}
	}
	if out := cmdutil.CheckOutput(f.Output); !out.OK() {
		return out
	}
	return o.reports.files().CheckWritable()
}
