package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/english"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/render/verdict"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
	"mcpc/internal/yaml"
)

// ruleOptions say which rules count, and for how much.
type ruleOptions struct {
	only           []string
	file, baseline string
	update, hosts  bool
}

// hostsRule is the rule that the matrix of tools and hosts belongs to.
const hostsRule = "hosts-core"

func (o *ruleOptions) declare(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.only, "only", nil, "judge only these `rules`: ids and tags, as in L106,tools")
	flags.StringVar(&o.file, "rules", "", "`file` with rules that are off or have another severity (*.mcpc-rules.yaml)")
	flags.StringVar(&o.baseline, "baseline", "", "`file` with findings that do not count")
	flags.BoolVar(&o.hosts, "hosts", false, "show each tool as the model interfaces of hosts take it")
	flags.BoolVar(&o.update, "update-baseline", false, "write the findings to the file of --baseline")
}

// A policy is what the user says about rules: off and severities by id, only by id (nil is
// all), and the baseline.
type policy struct {
	only       []string
	off        map[string]string
	severities map[string]string
	expired    []string
	options    ruleOptions
	baseline   []knownFinding
}

// A knownFinding is an entry of a baseline.
type knownFinding struct {
	Fingerprint string `json:"fingerprint"`
	Rule        string `json:"rule"`
	Title       string `json:"title"`
}

// A baselineFile is the file of --baseline.
type baselineFile struct {
	Version  int            `json:"mcpc-baseline"`
	Findings []knownFinding `json:"findings"`
}

const baselineVersion = 1

// mostPolicy bounds the files of the user's that are read, in bytes.
const maxFileSize = 16 << 20

// readPolicy reads the files; its errors are of the command line.
func readPolicy(f *cmdutil.Factory, o ruleOptions) (p *policy, err error) {
	p = &policy{options: o, off: map[string]string{}, severities: map[string]string{}}
	if len(o.only) > 0 {
		p.only, err = lint.Select(o.only...)
		if err != nil {
			return nil, usage.New("--only: "+err.Error(),
				wire.Run("check --list-rules")+" lists the rules and --json their tags")
		}
	}
	if o.update && len(o.only) > 0 {
		return nil, usage.New("--update-baseline writes all findings, and --only looks for some", "use only one of them")
	}
	if o.update && o.baseline == "" {
		return nil, usage.New("--update-baseline needs --baseline FILE", "")
	}
	if o.file != "" {
		if err := p.readRules(f, o.file); err != nil {
			return nil, err
		}
	}
	if o.baseline != "" {
		err = p.readBaseline(f, o.baseline)
	}
	return p, err
}

// ruleWordsOf are the values of a rule in a rules file.
var ruleSettings = []string{"off", verdict.Error, verdict.Warn, verdict.Info}

// readRules reads a *.mcpc-rules.yaml: under rules, an id or a tag and "off" or a severity,
// or an object with severity, reason and until.
func (p *policy) readRules(f *cmdutil.Factory, name string) error {
	text, err := f.ReadFile(name, maxFileSize)
	if err != nil {
		return usage.NotRead("--rules "+name, err, "")
	}
	d, err := yaml.Parse(text)
	if err != nil {
		return usage.New("--rules "+name+": "+err.Error(), "")
	}
	wrong := func(at yaml.Place, text string, hint wire.Hint) error {
		return usage.New(fmt.Sprintf("%s:%s: %s", name, at, text), hint)
	}
	top, bad := jsonraw.Object(d.JSON)
	rules, isObject := jsonraw.Object(top.Value("rules"))
	if bad != nil || isObject != nil {
		return wrong(d.Place(""), "a rules file has a member rules with an object", "rules: {L128: off}")
	}
	for _, m := range rules {
		at := jsonraw.Pointer("/rules", m.Name)
		ids, err := lint.Select(m.Name)
		if err != nil {
			return wrong(d.NamePlace(at), err.Error(), wire.Run("check --list-rules")+" lists the rules")
		}
		setting, reason, until, text := readSetting(m.Value)
		if text != "" {
			return wrong(
				d.Place(at),
				text,
				suggest.DidYouMean("%s", setting, ruleSettings,
					"off, error, warn, info, or an object with severity, reason and until"),
			)
		}
		if until != "" && f.Now().Format(time.DateOnly) > until {
			p.expired = append(p.expired,
				fmt.Sprintf("%s:%s: %s ended on %s and is not applied", name, d.NamePlace(at), m.Name, until))
			continue
		}
		for _, id := range ids {
			if setting == "off" {
				p.off[id] = "switched off" + reason
			} else {
				p.severities[id] = setting
			}
		}
	}
	return nil
}

// settingOf reads the value of a rule in a rules file; text says what is wrong with it.
func readSetting(raw json.RawMessage) (setting, reason, until, text string) {
	setting, plain := jsonraw.Text(raw)
	if !plain {
		m, bad := jsonraw.Object(raw)
		if bad != nil {
			return "", "", "", "expected off, a severity or an object"
		}
		for _, member := range m {
			if !slices.Contains([]string{"severity", "reason", "until"}, member.Name) {
				return member.Name, "", "", fmt.Sprintf("unknown member %q", member.Name)
			}
		}
		setting = m.Text("severity")
		until = m.Text("until")
		if why := m.Text("reason"); why != "" {
			reason = ": " + why
		}
	}
	if !slices.Contains(ruleSettings, setting) {
		return setting, "", "", fmt.Sprintf("unknown severity %q", setting)
	}
	if _, err := time.Parse(time.DateOnly, until); until != "" && err != nil {
		return setting, "", "", fmt.Sprintf("until is not a date: %q", until)
	}
	return setting, reason, until, ""
}

func (p *policy) readBaseline(f *cmdutil.Factory, name string) error {
	raw, err := f.ReadFile(name, maxFileSize)
	if errors.Is(err, fs.ErrNotExist) && p.options.update {
		return nil
	}
	if err != nil {
		return usage.NotRead("--baseline "+name, err, "--update-baseline writes it")
	}
	var file baselineFile
	err = json.Unmarshal(bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF")), &file)
	if err != nil || file.Version == 0 {
		return usage.New("--baseline "+name+": not a baseline of mcpc", "--update-baseline writes one to a new file")
	}
	if file.Version > baselineVersion {
		return usage.New(fmt.Sprintf("--baseline %s: version %d, written by a newer mcpc", name, file.Version),
			"update mcpc, or write a new baseline")
	}
	p.baseline = file.Findings
	return nil
}

// offIDs are the rules for which nothing is sent. The linter judges them all the same: others
// yield to them.
func (p *policy) offIDs() (ids []string) {
	for _, r := range lint.Rules() {
		if _, off := p.off[r.ID]; off || !p.selects(r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// judges reports a rule that was asked for.
func (p *policy) selects(id string) bool { return p.only == nil || slices.Contains(p.only, id) }

// apply sets severities, parts known findings from new ones, and judges anew.
func (p *policy) apply(r *verdict.Report) {
	r.Notes = append(r.Notes, p.expired...)
	r.Rules = slices.DeleteFunc(r.Rules, func(rule verdict.Rule) bool { return !p.selects(rule.ID) })
	judged := map[string]bool{}
	for i := range r.Rules {
		rule := &r.Rules[i]
		if why, off := p.off[rule.ID]; off {
			rule.Verdict = verdict.NotRun
			rule.Why = why
		}
		judged[rule.ID] = rule.Verdict != verdict.NotRun && rule.Verdict != verdict.NotApplicable
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f verdict.Finding) bool {
		_, off := p.off[f.Rule]
		return off || !p.selects(f.Rule)
	})
	for i := range r.Findings {
		if severity := p.severities[r.Findings[i].Rule]; severity != "" {
			r.Findings[i].Severity = severity
		}
	}
	known := map[string]bool{}
	found := map[string]bool{}
	for _, k := range p.baseline {
		known[k.Fingerprint] = !p.options.update
	}
	isKnown := func(f verdict.Finding) bool { return known[f.Fingerprint] }
	for _, f := range r.Findings {
		found[f.Fingerprint] = true
		if isKnown(f) {
			r.Known = append(r.Known, f)
		}
	}
	for _, k := range p.baseline {
		if !found[k.Fingerprint] && judged[k.Rule] && !p.options.update {
			r.Stale = append(r.Stale, k.Fingerprint)
		}
	}
	r.Findings = slices.DeleteFunc(r.Findings, isKnown)
	if _, off := p.off[hostsRule]; off || !p.selects(hostsRule) && !p.options.hosts {
		r.Hosts = nil
	} else if r.Hosts != nil {
		r.Hosts.Whole = p.options.hosts
	}
	r.Judge()
}

// saveBaseline writes the findings as the new baseline, where that was asked for.
func (p *policy) saveBaseline(f *cmdutil.Factory, r *verdict.Report) error {
	if !p.options.update {
		return nil
	}
	file := baselineFile{Version: baselineVersion, Findings: []knownFinding{}}
	for _, finding := range r.Findings {
		file.Findings = append(file.Findings, knownFinding{finding.Fingerprint, finding.Rule, finding.Title})
	}
	sliceutil.Sort(file.Findings, func(a, b knownFinding) int { return strings.Compare(a.Fingerprint, b.Fingerprint) })
	raw, _ := json.MarshalIndent(file, "", "  ")
	if err := cmdutil.ReplaceFile(p.options.baseline, append(raw, '\n')); err != nil {
		return cmdutil.Exit(usage.LocalIO("writing "+p.options.baseline, usage.Bare(err)))
	}
	f.Note(english.Plural(len(file.Findings), "finding") + " written to " + p.options.baseline)
	return nil
}
