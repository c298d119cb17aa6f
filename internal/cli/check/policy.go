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

// ruleOptions are the flags that select rules and change their severity.
type ruleOptions struct {
	only []string
	// file is the file of --rules, baseline the file of --baseline; "" means no file.
	file, baseline string
	// update is set by --update-baseline, hosts by --hosts.
	update, hosts bool
}

// hostsRule is the rule that compares tools with what hosts accept. The report shows the matrix of
// tools and hosts if the rule is selected.
const hostsRule = "hosts-core"

// declare adds the flags of the options to flags.
func (o *ruleOptions) declare(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.only, "only", nil, "check only these `rules`: ids and tags, as in L106,tools")
	flags.StringVar(&o.file, "rules", "", "`file` with rules that are off or have another severity (*.mcpc-rules.yaml)")
	flags.StringVar(&o.baseline, "baseline", "", "`file` with findings that do not count")
	flags.BoolVar(&o.hosts, "hosts", false, "show whether the model APIs of hosts accept each tool")
	flags.BoolVar(&o.update, "update-baseline", false, "write the findings to the file of --baseline")
}

// A policy is the user's configuration of the rules: which are judged, which are off, their
// severities, and the findings of the baseline.
type policy struct {
	// only are the ids of the rules to judge; nil means all.
	only []string
	// off has the reason why a rule is off, by its id.
	off        map[string]string
	severities map[string]string
	// expired are notes about settings whose date has passed.
	expired  []string
	options  ruleOptions
	baseline []knownFinding
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

// maxFileSize bounds each file that the user names, in bytes.
const maxFileSize = 16 << 20

// readPolicy reads the rules file and the baseline. Its errors are usage errors.
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

// ruleSettings are the severities that a rules file can give a rule.
var ruleSettings = []string{"off", verdict.Error, verdict.Warn, verdict.Info}

// readRules reads a *.mcpc-rules.yaml. Its member rules maps a rule id or a tag to "off", a
// severity, or an object with severity, reason and until.
func (p *policy) readRules(f *cmdutil.Factory, name string) error {
	text, err := f.ReadFile(name, maxFileSize)
	if err != nil {
		return usage.NotRead("--rules "+name, err, "")
	}
	d, err := yaml.Parse(text)
	if err != nil {
		return usage.New("--rules "+name+": "+err.Error(), "")
	}
	invalid := func(place yaml.Place, text string, hint wire.Hint) error {
		return usage.New(fmt.Sprintf("%s:%s: %s", name, place, text), hint)
	}
	top, topErr := jsonraw.Object(d.JSON)
	rules, rulesErr := jsonraw.Object(top.Value("rules"))
	if topErr != nil || rulesErr != nil {
		return invalid(d.Place(""), "a rules file has a member rules with an object", "rules: {L128: off}")
	}
	for _, m := range rules {
		pointer := jsonraw.Pointer("/rules", m.Name)
		ids, err := lint.Select(m.Name)
		if err != nil {
			return invalid(d.NamePlace(pointer), err.Error(), wire.Run("check --list-rules")+" lists the rules")
		}
		setting, fault := readSetting(m.Value)
		if fault != nil {
			return invalid(d.Place(pointer), fault.text, suggest.DidYouMean("%s", fault.word, ruleSettings,
				"off, error, warn, info, or an object with severity, reason and until"))
		}
		if setting.until != "" && f.Now().Format(time.DateOnly) > setting.until {
			p.expired = append(p.expired, fmt.Sprintf("%s:%s: %s ended on %s and is not applied",
				name, d.NamePlace(pointer), m.Name, setting.until))
			continue
		}
		p.set(ids, setting)
	}
	return nil
}

// set applies a setting to the rules with some ids.
func (p *policy) set(ids []string, setting ruleSetting) {
	for _, id := range ids {
		if setting.severity != "off" {
			p.severities[id] = setting.severity
			continue
		}
		p.off[id] = "switched off"
		if setting.reason != "" {
			p.off[id] += ": " + setting.reason
		}
	}
}

// A ruleSetting is the value of a rule in a rules file.
type ruleSetting struct {
	// severity is an element of ruleSettings.
	severity string
	// reason is "" if the user gave no reason; until is the last day of the setting, or "" if it
	// does not end.
	reason, until string
}

// A settingFault is a fault in the value of a rule: the wrong word, or "" if no word is wrong, and
// a text.
type settingFault struct{ word, text string }

// readSetting reads the value of a rule in a rules file.
func readSetting(raw json.RawMessage) (ruleSetting, *settingFault) {
	var s ruleSetting
	word, isText := jsonraw.Text(raw)
	if isText {
		s.severity = word
	} else {
		members, err := jsonraw.Object(raw)
		if err != nil {
			return s, &settingFault{"", "expected off, a severity or an object"}
		}
		for _, member := range members {
			if !slices.Contains([]string{"severity", "reason", "until"}, member.Name) {
				return s, &settingFault{member.Name, fmt.Sprintf("unknown member %q", member.Name)}
			}
		}
		s = ruleSetting{members.Text("severity"), members.Text("reason"), members.Text("until")}
	}
	if !slices.Contains(ruleSettings, s.severity) {
		return s, &settingFault{s.severity, fmt.Sprintf("unknown severity %q", s.severity)}
	}
	if _, err := time.Parse(time.DateOnly, s.until); s.until != "" && err != nil {
		return s, &settingFault{s.severity, fmt.Sprintf("until is not a date: %q", s.until)}
	}
	return s, nil
}

// readBaseline reads the known findings. The file may be missing if --update-baseline writes it.
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

// offIDs returns the rules that check sends no requests for. The linter judges them nevertheless,
// because other rules depend on their findings.
func (p *policy) offIDs() []string {
	var ids []string
	for _, r := range lint.Rules() {
		if _, off := p.off[r.ID]; off || !p.selects(r.ID) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// selects reports whether --only includes the rule; without --only it includes all.
func (p *policy) selects(id string) bool { return p.only == nil || slices.Contains(p.only, id) }

// apply sets the severities of the policy, removes findings of rules that are off or not selected,
// separates known findings from new ones, and computes the verdict of the report again.
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
	if !p.options.update {
		p.separateKnown(r, judged)
	}
	_, isOff := p.off[hostsRule]
	showsHosts := !isOff && (p.selects(hostsRule) || p.options.hosts)
	if !showsHosts {
		r.Hosts = nil
	} else if r.Hosts != nil {
		r.Hosts.Whole = p.options.hosts
	}
	r.Judge()
}

// separateKnown moves the findings of the baseline from r.Findings to r.Known. An entry of the
// baseline without a finding is stale if its rule was judged.
func (p *policy) separateKnown(r *verdict.Report, judged map[string]bool) {
	known := map[string]bool{}
	for _, k := range p.baseline {
		known[k.Fingerprint] = true
	}
	isKnown := func(f verdict.Finding) bool { return known[f.Fingerprint] }
	found := map[string]bool{}
	for _, f := range r.Findings {
		found[f.Fingerprint] = true
		if isKnown(f) {
			r.Known = append(r.Known, f)
		}
	}
	r.Findings = slices.DeleteFunc(r.Findings, isKnown)
	for _, k := range p.baseline {
		if !found[k.Fingerprint] && judged[k.Rule] {
			r.Stale = append(r.Stale, k.Fingerprint)
		}
	}
}

// saveBaseline writes the findings as the new baseline if --update-baseline is given.
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
