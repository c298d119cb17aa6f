package check

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/fuzz"
	"mcpc/internal/jsonraw"
	"mcpc/internal/lint"
	"mcpc/internal/render/term"
	"mcpc/internal/sliceutil"
	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// modeWords say what is needed to judge a rule, by its mode.
var modeWords = map[lint.Mode]string{
	lint.Passive:  "any traffic shows it",
	lint.Safe:     "check sends well-formed requests that change nothing",
	lint.Negative: "check --negative sends malformed requests",
	lint.Calls:    "check --call TOOL calls a tool",
	lint.Fuzz:     "check --fuzz calls the tools that only read, with generated arguments",
}

// explainRule prints one rule.
func explainRule(ctx context.Context, f *cmdutil.Factory, word string) error {
	r, ok := lint.Find(word)
	if !ok {
		r, ok = lint.Find(strings.ToUpper(word))
		if !ok {
			return unknownRuleError(word)
		}
	}
	raw, _ := jsonraw.Marshal(r)
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		capability := "any"
		if r.Capability != "any" {
			capability = "servers that declare " + r.Capability
		}
		judged := modeWords[r.Mode]
		if r.Mode == lint.Calls && slices.Contains(fuzz.Rules, r.ID) {
			judged = "check --call TOOL calls a tool, or check --fuzz many tools"
		}
		return term.Facts(w, st, [][]string{
			{"rule", r.ID},
			{"says", r.Title},
			{"severity", string(r.Severity)},
			{"revisions", r.Range},
			{"transport", r.Transport},
			{"servers", capability},
			{"judged", judged},
			{"tags", strings.Join(r.Tags, ", ")},
			{"fix", r.Fix},
			{"source", r.Source},
		})
	}))
}

// listRules prints all rules.
func listRules(ctx context.Context, f *cmdutil.Factory) error {
	rules := lint.Rules()
	raw := jsonraw.ListOf(rules, func(r lint.Rule) json.RawMessage {
		raw, _ := jsonraw.Marshal(r)
		return raw
	})
	return cmdutil.Show(ctx, f, wire.Outcome{}, cmdutil.Document(raw, func(w io.Writer, st term.Style) error {
		cells := sliceutil.Map(rules, func(r lint.Rule) []string {
			return []string{r.ID, string(r.Severity), string(r.Mode), r.Title}
		})
		return term.Table(w, st, []string{"RULE", "SEVERITY", "MODE", "RULE SAYS"}, cells)
	}))
}

// selectors returns the words that select rules: their ids and tags.
func selectors() []string {
	var words []string
	for _, r := range lint.Rules() {
		words = append(words, r.ID)
		for _, tag := range r.Tags {
			if !slices.Contains(words, tag) {
				words = append(words, tag)
			}
		}
	}
	return words
}

// unknownRuleError returns the error for a word that is not the id of a rule. If the word is a tag,
// the error lists the rules with the tag.
func unknownRuleError(word string) error {
	var tagged []string
	for _, r := range lint.Rules() {
		if slices.Contains(r.Tags, word) {
			tagged = append(tagged, r.ID)
		}
	}
	if len(tagged) > 0 {
		return usage.New(word+" is a tag of the rules "+strings.Join(tagged, ", "),
			wire.Run("check --explain "+tagged[0])+" explains one of them")
	}
	return usage.New(suggest.OrMeant("unknown rule "+word, word, selectors()),
		wire.Run("check --list-rules")+" lists the rules and --json their tags")
}
