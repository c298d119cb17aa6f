package verdict

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"mcpc/internal/render/term"
	"mcpc/internal/sanitize"
)

// The reports are SARIF 2.1.0 with these objects only: one run, its driver with the rules that have
// findings, a result for each finding, and whether the server could be judged. GitHub requires for each
// result a relative path, a line and a fingerprint. Each server has its own category, so that a report
// about one server does not close the alerts of another.

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	// Automation has the category, which ends with a slash.
	Automation struct {
		ID string `json:"id"`
	} `json:"automationDetails"`
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
	Full    sarifMessage `json:"fullDescription"`
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
	Properties   struct {
		Server string `json:"server,omitempty"`
	} `json:"properties"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region sarifRegion `json:"region"`
	} `json:"physicalLocation"`
	Logical []sarifName `json:"logicalLocations,omitempty"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifName struct {
	Name string `json:"fullyQualifiedName"`
}

// sarifLevels maps severities to levels of SARIF.
var sarifLevels = map[string]string{Error: "error", Warn: "warning", Info: "note"}

// SARIF writes the findings as SARIF 2.1.0. source is a file of the server, as a path in the
// repository, and text its content: a finding about a tool is placed at the line with the tool's
// name. If source is "" the place is a path that names the server.
func (r *Report) SARIF(w io.Writer, source string, text []byte) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "mcpc " + r.Command, Version: r.Version, Rules: []sarifRule{}}
	indexes := map[string]int{}
	for _, f := range r.Findings {
		if _, isListed := indexes[f.Rule]; !isListed {
			indexes[f.Rule] = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, newSARIFRule(r.findRule(f.Rule)))
		}
		server := f.Server
		if server == "" {
			server = r.Target
		}
		result := sarifResult{
			RuleID:       f.Rule,
			RuleIndex:    indexes[f.Rule],
			Level:        sarifLevels[f.Severity],
			Message:      sarifMessage{Text: term.Block(f.plainText())},
			Locations:    []sarifLocation{newSARIFLocation(server, f.Subject, source, text)},
			Fingerprints: fingerprints(f),
		}
		result.Properties.Server = term.Line(server)
		run.Results = append(run.Results, result)
	}
	run.Automation.ID = run.Tool.Driver.Name + "/" + serverPath(r.Target) + "/"
	invocation := sarifInvocation{Successful: true}
	if why := r.Unfinished(); why != "" {
		invocation = sarifInvocation{Notifications: []sarifNotification{{"error", sarifMessage{Text: term.Block(why)}}}}
	}
	run.Invocations = []sarifInvocation{invocation}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(
		sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}},
	)
}

// newSARIFRule describes a rule for SARIF.
func newSARIFRule(rule Rule) sarifRule {
	title := sarifMessage{Text: cmp.Or(rule.Title, rule.ID)}
	s := sarifRule{ID: rule.ID, Short: title, Full: title}
	s.Help.Text = rule.Fix + "\n" + rule.Source
	s.Help.Markdown = fmt.Sprintf("%s\n\nFix: %s\n\nSource: %s",
		sanitize.Markdown(rule.Title), sanitize.Markdown(rule.Fix), sanitize.Markdown(rule.Source))
	s.Default.Level = sarifLevels[rule.Severity]
	if s.Default.Level == "" {
		s.Default.Level = "warning"
	}
	s.Properties.Tags = rule.Tags
	return s
}

// newSARIFLocation returns the place of a finding: the line about subject in the file source with the
// content text, or line 1 of a path that names the server if source is "".
func newSARIFLocation(server, subject, source string, text []byte) sarifLocation {
	name := term.Line(strings.TrimSpace(server + " " + subject))
	location := sarifLocation{Logical: []sarifName{{name}}}
	if source == "" {
		location.Physical.Artifact.URI = serverPath(server)
		location.Physical.Region.StartLine = 1
		return location
	}
	uri := escapedPath(filepath.ToSlash(filepath.Clean(source)))
	if filepath.IsAbs(source) { // relative paths start in the repository
		uri = "file:///" + strings.TrimPrefix(uri, "/")
	}
	location.Physical.Artifact.URI = uri
	location.Physical.Region.StartLine = max(1, subjectLine(text, subject))
	return location
}

// fingerprints returns the identity of a finding across reports. GitHub reads
// primaryLocationLineHash only; without it all findings of a rule at a place would be one.
func fingerprints(f Finding) map[string]string {
	sum := sha256.Sum256([]byte(f.Fingerprint))
	return map[string]string{
		"mcpc/v1":                 term.Line(f.Fingerprint),
		"primaryLocationLineHash": hex.EncodeToString(sum[:8]) + ":1",
	}
}

// serverPath returns a relative path that names a server, as a URI: HOST/mcp for a URL,
// HOST_PORT/mcp if it has a port, else the words of the command. GitHub refuses a file with an
// absolute URI, and a colon in the first segment would make it one.
func serverPath(server string) string {
	name := server
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		name = u.Host + path.Clean("/"+u.Path)
	}
	name = strings.NewReplacer(":", "_", "[", "", "]", "", "\\", "/").Replace(term.Line(name))
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		name = "server"
	}
	return escapedPath(name)
}

// escapedPath escapes the segments of a path.
func escapedPath(name string) string {
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(segment), ":", "%3A") // PathEscape keeps colons
	}
	return strings.Join(segments, "/")
}

// subjectLine returns the first line of text that has a subject's name in quotes, such as "get-sum"
// for the subject "tool get-sum", or 0 without such a line.
func subjectLine(text []byte, subject string) int {
	_, name, ok := strings.Cut(subject, " ")
	if !ok {
		return 0
	}
	for _, quote := range []string{`"`, "'", "`"} {
		if offset := bytes.Index(text, []byte(quote+name+quote)); offset >= 0 {
			return 1 + bytes.Count(text[:offset], []byte("\n"))
		}
	}
	return 0
}
