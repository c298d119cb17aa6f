package verdict

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"

	"mcpc/internal/render/term"
)

// The form is SARIF 2.1.0 with these objects only: one run, its driver with the rules that
// have findings, a result for each finding, and whether the server could be judged.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifInvocation struct {
	Successful    bool                `json:"executionSuccessful"`
	Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
}

type sarifNotification struct {
	Level   string       `json:"level"`
	Message sarifMessage `json:"message"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID      string       `json:"id"`
	Short   sarifMessage `json:"shortDescription"`
	Help    sarifMessage `json:"help"`
	Default struct {
		Level string `json:"level"`
	} `json:"defaultConfiguration"`
	Properties struct {
		Tags []string `json:"tags,omitempty"`
	} `json:"properties"`
}

type sarifMessage struct {
	Text     string `json:"text"`
	Markdown string `json:"markdown,omitempty"`
}

type sarifResult struct {
	RuleID       string            `json:"ruleId"`
	RuleIndex    int               `json:"ruleIndex"`
	Level        string            `json:"level"`
	Message      sarifMessage      `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Fingerprints map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
	Logical []sarifName `json:"logicalLocations,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifName struct {
	Name string `json:"fullyQualifiedName"`
}

// sarifLevels are the levels of severities.
var sarifLevels = map[string]string{Error: "error", Warn: "warning", Info: "note"}

// SARIF writes the findings as SARIF 2.1.0. source is a file of the server and text what it
// contains: a finding about a tool is placed at the line with the tool's name. Without a
// source the place is the server.
func (r *Report) SARIF(w io.Writer, source string, text []byte) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "mcpc " + r.Command, Version: r.Version, Rules: []sarifRule{}}
	indexes := map[string]int{}
	for _, f := range r.Findings {
		if _, known := indexes[f.Rule]; !known {
			indexes[f.Rule] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRuleOf(r.rule(f.Rule)))
		}
		at := sarifLocation{Logical: []sarifName{{term.Line(strings.TrimSpace(r.Target + " " + f.Subject))}}}
		if at.Physical.Artifact.URI = uriOf(r.Target); source != "" {
			at.Physical.Artifact.URI = uriOf(source)
			at.Physical.Region = &sarifRegion{max(1, lineOf(text, f.Subject))}
		}
		run.Results = append(run.Results, sarifResult{RuleID: f.Rule, RuleIndex: indexes[f.Rule], Level: sarifLevels[f.Severity],
			Message: sarifMessage{Text: term.Block(f.text())}, Locations: []sarifLocation{at}, Fingerprints: map[string]string{"mcpc/v1": term.Line(f.Fingerprint)}})
	}
	invocation := sarifInvocation{Successful: true}
	if why := r.failed(); why != "" {
		invocation = sarifInvocation{Notifications: []sarifNotification{{"error", sarifMessage{Text: term.Block(why)}}}}
	}
	run.Invocations = []sarifInvocation{invocation}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}})
}

func sarifRuleOf(rule Rule) sarifRule {
	s := sarifRule{ID: rule.ID, Short: sarifMessage{Text: rule.Title}}
	s.Help = sarifMessage{Text: rule.Fix + "\n" + rule.Source, Markdown: fmt.Sprintf("%s\n\nFix: %s\n\nSource: %s", markdownText(rule.Title), markdownText(rule.Fix), markdownText(rule.Source))}
	s.Default.Level, s.Properties.Tags = cmp.Or(sarifLevels[rule.Severity], "warning"), rule.Tags
	return s
}

// uriOf is a server or a file as a URI: a URL as it is, anything else escaped.
func uriOf(target string) string {
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		return u.String()
	}
	return (&url.URL{Path: target}).EscapedPath()
}

// lineOf is the line of a text with a subject's name in quotes; 0 where there is none.
func lineOf(text []byte, subject string) int {
	_, name, ok := strings.Cut(subject, " ")
	if !ok {
		return 0
	}
	for _, quote := range []string{`"`, "'", "`"} {
		if at := bytes.Index(text, []byte(quote+name+quote)); at >= 0 {
			return 1 + bytes.Count(text[:at], []byte("\n"))
		}
	}
	return 0
}
