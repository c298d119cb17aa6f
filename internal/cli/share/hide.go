package share

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strconv"
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

// ReadRules parses the values of --redact: /regular expression/, or else a jq expression. The error
// is a usage error.
func ReadRules(texts []string) (rules []Rule, err error) {
	for _, text := range texts {
		r := Rule{text: text}
		if len(text) > 2 && text[0] == '/' && strings.HasSuffix(text, "/") {
			r.pattern, err = regexp.Compile(text[1 : len(text)-1])
			if err == nil && r.pattern.MatchString("") { // it would match everywhere
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

// Learn learns the secrets of all exchanges of a capture, before any of them is copied: a value that
// is named as a secret in one place may occur earlier, or elsewhere without its name. The jq
// expressions of --redact apply to the selected rows only. The error is ready to be returned by a
// command.
func (h *Hider) Learn(ctx context.Context, c *rows.Capture, selected []*rows.Row) error {
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
	isSelected := map[*rows.Row]bool{}
	for _, row := range selected {
		isSelected[row] = true
	}
	for _, row := range c.Rows() {
		err := row.EachFrame(func(f wire.Frame) error {
			if !isSelected[row] {
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
// usage error for a value that is too short. It ignores bytes that are no JSON.
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
				if err := h.learnText(r, text); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// learnText learns a text that the expression of a rule selected. It skips an empty text, and a text
// whose secret is hidden already. It returns a usage error for a text that is too short.
func (h *Hider) learnText(r Rule, text string) error {
	if text == "" || len(redact.HiddenIn(text)) > 0 {
		return nil
	}
	if len(text) < minRedacted {
		return usage.New(
			fmt.Sprintf(
				"--redact %s gives a value of fewer than %d characters, which also occurs within other texts",
				r.text, minRedacted,
			),
			"--redact '/regular expression/' selects the right places",
		)
	}
	if len(text) >= 2*minRedacted {
		h.Factory.Secrets.Learn(text)
	} else { // Learn ignores values as short as this
		h.Factory.Secrets.Hide(regexp.MustCompile(regexp.QuoteMeta(text)))
	}
	return nil
}

// appendTexts appends to all the strings and numbers in a value, at any depth, and returns all.
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
	if text, ok := jsonraw.Text(value); ok {
		return append(all, text)
	}
	if jsonraw.IsNumber(value) {
		return append(all, string(value))
	}
	return all // true, false or null
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
	written := placeholders{values: map[string]bool{}}
	err = c.Copy(io.MultiWriter(file, &written), rows)
	s.Tally = nil
	if err != nil {
		file.Close()
		return nil, err
	}
	content := &bundle.Content{Capture: file}
	content.Manifest.Hidden = written.hidden
	content.Manifest.Values = len(written.values)
	content.Manifest.Now = h.counts
	content.Manifest.Rules = []string{
		"values that mcpc knows: stored tokens, session ids, secrets of the environment, --redact-file",
		"values that are named like secrets, parameters and users of URLs, cookies, tokens by their form",
		"private keys, and texts of 32 characters or more that look random, except ids, digests and images",
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
			"there were more secrets than mcpc can track: message texts are hidden from a certain point on",
		)
	}
	return content, nil
}

// placeholders counts the placeholders in the written lines of a capture, and the values they hide.
type placeholders struct {
	hidden int
	// values has a key for each hidden value. The values themselves are not in the lines.
	values map[string]bool
}

// Write counts the placeholders in a line. A value is identified by the hash in its placeholder, and
// by the placeholder's length, since some placeholders have no hash.
func (p *placeholders) Write(line []byte) (int, error) {
	for _, span := range redact.HiddenIn(string(line)) {
		p.hidden++
		placeholder := string(line[span[0]:span[1]])
		hash := strings.Join(redact.HashesIn(placeholder), "")
		p.values[hash+strconv.Itoa(len(placeholder))] = true
	}
	return len(line), nil
}

// CountHidden returns the number of placeholders in the rows of a capture.
func CountHidden(c *rows.Capture) (int, error) {
	p := placeholders{values: map[string]bool{}}
	err := c.Copy(&p, c.Rows())
	return p.hidden, err
}
