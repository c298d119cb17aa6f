package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/cli/recorded"
	"mcpc/internal/english"
	"mcpc/internal/match"
	"mcpc/internal/match/jsonvalue"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A judgement says how responses are compared and which of their values are handles.
type judgement struct {
	Options
	bindings recorded.Bindings
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
			return j, recorded.InvalidPath("--ignore", text, err)
		}
		flagRules.Rules = append(flagRules.Rules,
			match.Rule{Part: match.Result, Path: path, Matcher: match.Matcher{Kind: match.Ignore}})
	}
	for _, text := range o.match.bind {
		source, isNew, err := j.bindings.Add(text)
		if err != nil {
			return j, err
		}
		if isNew {
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
