package share

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"mcpc/internal/capture/bundle"
	"mcpc/internal/capture/rows"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/jsonraw"
	"mcpc/internal/redact"
	"mcpc/internal/render/jq"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// A Rule is one --redact option: a jq expression for values, or a pattern.
type Rule struct {
	text    string
	values  *jq.Program
	pattern *regexp.Regexp
}

// ReadRules parses the values of --redact. The error is a usage error.
func ReadRules(texts []string) (rules []Rule, err error) {
	for _, text := range texts {
		r := Rule{text: text}
		if len(text) > 2 && text[0] == '/' && strings.HasSuffix(text, "/") {
			r.pattern, err = regexp.Compile(text[1 : len(text)-1])
			if err == nil && r.pattern.MatchString("") {
				return nil, usage.New("--redact: the pattern also matches the empty text", "")
			}
		} else {
			r.values, err = jq.Compile(text)
		}
		if err != nil {
			return nil, usage.New("--redact: "+err.Error(), "--redact takes a jq expression or a /regular expression/")
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// A Hider hides secrets in the exchanges of a capture that leaves this machine.
type Hider struct {
	Factory *cmdutil.Factory
	Rules   []Rule
	Level   redact.Guess
	// counts are the numbers of hidden places, by the texts of HiddenAs.
	counts map[string]int
}

// HiddenAs has the texts for the kinds of secrets, in the plural.
var HiddenAs = map[redact.FoundKind]string{
	redact.FoundKnown: "known values", redact.FoundURL: "parameters and users of URLs",
	redact.FoundName:  "values by their names",
	redact.FoundToken: "tokens by their form", redact.FoundKey: "private keys", redact.FoundRandom: "random texts",
	redact.FoundMail: "e-mail addresses", redact.FoundHome: "names of home directories", redact.FoundIP: "IPv4 addresses",
}

// Learn learns the secrets of all exchanges of a capture. A value with a secret name in one place
// may occur in another place before it, or without its name. The expressions of --redact apply to
// the rows in all.
func (h *Hider) Learn(ctx context.Context, c *rows.Capture, all []*rows.Row) error {
	s := &h.Factory.Secrets
	s.Guess = h.Level
	for _, r := range h.Rules {
		if r.pattern != nil {
			s.Hide(r.pattern)
		}
	}
	h.Factory.HideSecretsIn(c)
	for _, head := range c.Heads {
		s.LearnCommand(head.Argv)
		s.LearnCommand(head.Command)
	}
	selected := map[*rows.Row]bool{}
	for _, row := range all {
		selected[row] = true
	}
	for _, row := range c.Rows() {
		err := row.EachFrame(func(f wire.Frame) error {
			if !selected[row] {
				return nil // reading the frame has hidden and learned its secrets
			}
			return h.learnSelected(ctx, f.Raw)
		})
		if cmdutil.IsUsage(err) {
			return err
		} else if err != nil {
			return cmdutil.Exit(usage.LocalIO("reading "+row.Path(), usage.Bare(err)))
		}
		if ctx.Err() != nil {
			return cmdutil.Exit(wire.Outcome{Kind: wire.Signal, Text: "interrupted"})
		}
	}
	return nil
}

// minRedacted is the minimum length of a value of --redact. Shorter values occur within words.
const minRedacted = 4

// learnSelected learns the values that the expressions of --redact select in a message. It returns a
// usage error for a value that is too short.
func (h *Hider) learnSelected(ctx context.Context, raw []byte) error {
	if len(raw) == 0 || jsonraw.Valid(raw) != nil {
		return nil
	}
	for _, r := range h.Rules {
		if r.values == nil {
			continue
		}
		values, _ := r.values.Values(ctx, raw) // many messages do not have the values
		for _, value := range values {
			for _, text := range appendTexts(value, nil) {
				switch {
				case len(redact.HiddenIn(text)) > 0:
				case len(text) >= 2*minRedacted:
					h.Factory.Secrets.Learn(text)
				case len(text) >= minRedacted:
					h.Factory.Secrets.Hide(regexp.MustCompile(regexp.QuoteMeta(text)))
				case text != "":
					return usage.New(
						fmt.Sprintf(
							"--redact %s gives a value of fewer than %d characters, which also occurs within other texts",
							r.text, minRedacted,
						),
						"--redact '/regular expression/' selects the right places",
					)
				}
			}
		}
	}
	return nil
}

// appendTexts appends the strings and numbers in a value, at any depth.
func appendTexts(value json.RawMessage, all []string) []string {
	if members, err := jsonraw.Object(value); err == nil {
		for _, m := range members {
			all = appendTexts(m.Value, all)
		}
		return all
	}
	if items, err := jsonraw.Array(value); err == nil {
		for _, item := range items {
			all = appendTexts(item, all)
		}
		return all
	}
	text, ok := jsonraw.Text(value)
	if ok || jsonraw.IsNumber(value) {
		return append(all, cmp.Or(text, strings.Trim(string(value), `"`)))
	}
	return all
}

// Draft copies the exchanges without their secrets into a temporary capture. It returns a bundle
// with the capture and the counts of the hidden values.
func (h *Hider) Draft(c *rows.Capture, rows []*rows.Row) (*bundle.Content, error) {
	file, err := bundle.Temporary()
	if err != nil {
		return nil, err
	}
	s := &h.Factory.Secrets
	h.counts = map[string]int{}
	s.Tally = func(kind redact.FoundKind) { h.counts[HiddenAs[kind]]++ }
	left := placeholders{values: map[string]bool{}}
	err = c.Copy(io.MultiWriter(file, &left), rows)
	s.Tally = nil
	if err != nil {
		file.Close()
		return nil, err
	}
	content := &bundle.Content{Capture: file}
	content.Manifest.Hidden = left.hidden
	content.Manifest.Values = len(left.values)
	content.Manifest.Now = h.counts
	content.Manifest.Rules = []string{
		"values that mcpc knows: stored tokens, session ids, secrets of the environment, --redact-file",
		"values that are named like secrets, parameters and users of URLs, cookies, tokens by their form",
		"private keys, and texts of 32 characters or more that look random, but for ids, digests and pictures",
	}
	if h.Level == redact.GuessStrict {
		content.Manifest.Rules = append(content.Manifest.Rules,
			"--strict: e-mail addresses, names of home directories, IPv4 addresses")
	}
	for _, r := range h.Rules {
		content.Manifest.Rules = append(content.Manifest.Rules, "--redact "+s.Text(r.text))
	}
	if s.Withholds() {
		content.Manifest.Notes = append(
			content.Manifest.Notes,
			"there were more secrets than mcpc can track: message texts are hidden from some place on",
		)
	}
	return content, nil
}

// placeholders counts the placeholders in the written lines of a capture, and the values they hide.
type placeholders struct {
	hidden int
	values map[string]bool
}

// Write counts the placeholders in a line.
func (p *placeholders) Write(line []byte) (int, error) {
	for _, span := range redact.HiddenIn(string(line)) {
		p.hidden++
		p.values[strings.Join(redact.HashesIn(string(line[span[0]:span[1]])), "")+fmt.Sprint(span[1]-span[0])] = true
	}
	return len(line), nil
}

// CountHidden returns the number of placeholders in the rows of a capture.
func CountHidden(c *rows.Capture) (int, error) {
	p := placeholders{values: map[string]bool{}}
	err := c.Copy(&p, c.Rows())
	return p.hidden, err
}
