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
// differ. The paths of --ignore and --bind become a last section of rules, for all methods.
func (o *options) readJudgement(f *cmdutil.Factory) (judgement, error) {
	rules, err := o.readRules(f)
	if err != nil {
		return judgement{}, err
	}
	j := judgement{Options: Options{
		Rules: rules,
		Bytes: o.match.level == "exact",
		Level: Level(o.match.compare),
	}}
	if o.parallel > 1 { // they may belong to any of the concurrent requests
		j.Notifications = Ignored
	} else if o.match.inOrder {
		j.Notifications = InOrder
	}
	flagRules := match.Section{Method: "*"}
	for _, text := range o.match.ignore {
		path, err := jsonvalue.ParsePath(text)
		if err != nil {
			return j, invalidPath("--ignore", text, err)
		}
		flagRules.Rules = append(flagRules.Rules,
			match.Rule{Part: match.Result, Path: path, Matcher: match.Matcher{Kind: match.Ignore}})
	}
	for _, text := range o.match.bind {
		source, target, err := parseBind(text)
		if err != nil {
			return j, invalidPath("--bind", text, err)
		}
		if isNew := j.addBinding(source, target); isNew {
			flagRules.Rules = append(flagRules.Rules, match.Rule{
				Part: match.Result, Path: source,
				Matcher: match.Matcher{Kind: match.Bound, Arg: source.String()},
			})
		}
	}
	j.Rules.Sections = append(j.Rules.Sections, flagRules)
	j.MaxSlowdown, err = o.parseMaxSlowdown()
	return j, err
}

// readRules returns the rules of --match-file; no rules if the flag is not given.
func (o *options) readRules(f *cmdutil.Factory) (*match.Rules, error) {
	if o.match.file == "" {
		return &match.Rules{}, nil
	}
	raw, err := f.Env.ReadFile(o.match.file, maxRules)
	if err != nil {
		return nil, usage.NotRead("--match-file "+o.match.file, err, "--learn N --write-match FILE proposes one")
	}
	rules, err := match.ParseRules(raw)
	if err != nil {
		return nil, matcherFileError(o.match.file, err)
	}
	return rules, nil
}

// addBinding adds the bindings of one --bind: the values at source in results are handles. They are
// replaced at target in the params of later requests, or, if target is nil, in each member with the
// name of the source. It reports whether source is new.
func (j *judgement) addBinding(source, target jsonvalue.Path) bool {
	kind := source.String()
	existing := slices.IndexFunc(j.bindings, func(b match.Binding) bool {
		return b.Kind == kind && b.Part == match.Result
	})
	isNew := existing < 0
	if isNew {
		j.bindings = append(j.bindings, match.Binding{
			Kind: kind, Part: match.Result, Select: source.Select, Named: target == nil,
		})
	} else if target == nil {
		j.bindings[existing].Named = true
	}
	if target != nil {
		j.bindings = append(j.bindings, match.Binding{Kind: kind, Part: match.Params, Select: target.Select})
	}
	return isNew
}

// parseMaxSlowdown returns the factor of --max-slowdown, as 2 or 2x; 0 means no limit.
func (o *options) parseMaxSlowdown() (float64, error) {
	if o.match.maxSlowdown == "" {
		return 0, nil
	}
	factor, err := strconv.ParseFloat(strings.TrimSuffix(o.match.maxSlowdown, "x"), 64)
	if err != nil || !(factor >= 1 && factor <= 1e6) { // NaN is neither
		return 0, usage.New(fmt.Sprintf("--max-slowdown takes a factor from 1 on, not %q", o.match.maxSlowdown),
			"--max-slowdown 2x")
	}
	return factor, nil
}

// parseBind parses the value of --bind, SOURCE or SOURCE=TARGET: the path in results, and the path in
// the params of later requests. target is nil if it is missing.
func parseBind(text string) (source, target jsonvalue.Path, err error) {
	source, err = jsonvalue.ParsePath(text)
	if err == nil {
		return source, nil, nil
	}
	for i := range len(text) { // a quoted name may have a "=", so the first one need not be the separator
		if text[i] != '=' {
			continue
		}
		left, leftErr := jsonvalue.ParsePath(text[:i])
		if leftErr != nil {
			continue
		}
		target, err = jsonvalue.ParsePath(text[i+1:])
		return left, target, err
	}
	return nil, nil, err
}

// unmetMatchers returns the matchers that no exchange had a value for. It omits matchers of a file
// if a filter is set: they may be for other exchanges.
func (o *options) unmetMatchers(rules *match.Rules, met map[*match.Rule]bool) []string {
	hasFilter := len(o.filterWords)+len(o.only) > 0
	var unmet []string
	for _, s := range rules.Sections {
		for i, rule := range s.Rules {
			isFromFile := rule.Place.Line > 0
			if met[&s.Rules[i]] || isFromFile && hasFilter {
				continue
			}
			path := rule.Path.String()
			origin := "--ignore"
			if isFromFile {
				path = strings.Join(strings.Fields(s.Method+" "+s.Name+" "+path), " ")
				origin = fmt.Sprintf("%s:%d", filepath.Base(o.match.file), rule.Place.Line)
			} else if rule.Matcher.Kind == match.Bound {
				origin = "--bind"
			}
			unmet = append(unmet, path+" ("+origin+")")
		}
	}
	return unmet
}

// invalidPath returns the error for an invalid path, with a hint.
func invalidPath(flag, text string, err error) error {
	return usage.New(fmt.Sprintf("%s %s: %v", flag, text, err), wire.Hint(flag+" '"+suggestPath(flag, text)+"'"))
}

// suggestPath returns the path that a JSON pointer or a path without its first "." probably means;
// of --bind it corrects both sides of "=". For other texts it returns an example.
func suggestPath(flag, text string) string {
	const example = ".structuredContent.id"
	sides := []string{text}
	if flag == "--bind" {
		sides = strings.Split(text, "=")
	}
	for i, side := range sides {
		sides[i] = "." + strings.TrimPrefix(pathOfPointer(side), ".")
	}
	suggestion := strings.Join(sides, "=")
	_, _, err := parseBind(suggestion)
	isUseless := err != nil || suggestion == text || suggestion == "."
	if isUseless || strings.Contains(suggestion, "'") { // the hint quotes it with '
		return example
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
