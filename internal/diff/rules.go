package diff

// A Rule is one kind of change, with its level.
type Rule struct {
	ID    string
	Level Level
	// Direction is "input" for rules about what a server accepts, "output" for rules about what
	// it sends, else "".
	Direction string
	// Sentence is the text of a change. {place} is replaced by the argument or output member,
	// {was} and {is} by the values, and {note} by a text of the comparison.
	Sentence string
	// Fix is advice for the author of the server, or "" if the change is harmless.
	Fix string
}

// A ValueUse says how the sentence of a rule contains the values of a change.
type ValueUse int

// The uses of values.
const (
	// ShortValues: the sentence contains values that are short as a whole, and excerpts of others.
	ShortValues ValueUse = iota
	// LongValues: the sentence contains all that differs in the values, however long they are.
	LongValues
	// NoValues: the sentence says how much two texts differ.
	NoValues
)

// valueUses are the uses of values that are not ShortValues, by the id of the rule.
var valueUses = map[string]ValueUse{
	"description-rewritten":  NoValues,
	"description-reworded":   NoValues,
	"instructions-rewritten": NoValues,
	"instructions-reworded":  NoValues,
	"input-enum-removed":     LongValues,
	"input-enum-added":       LongValues,
	"input-type-narrowed":    LongValues,
	"input-type-widened":     LongValues,
	"input-type-changed":     LongValues,
	"output-enum-removed":    LongValues,
	"output-enum-added":      LongValues,
	"output-type-narrowed":   LongValues,
	"output-type-widened":    LongValues,
	"output-type-changed":    LongValues,
	"mime-type-changed":      LongValues,
}

// ValueUse returns how the sentence of the rule contains the values of a change.
func (r Rule) ValueUse() ValueUse { return valueUses[r.ID] }

const (
	input  = "input"
	output = "output"

	fixKeep   = "keep the old one as well until its users have moved"
	fixAccept = "accept the same values as before, or add a new tool and keep this one"
	fixResult = "keep results as the old schema describes them, or add a new tool and keep this one"
	fixLook   = "look at both schemas: the effect of the change could not be determined"
	fixRead   = "read both texts: a model follows the new one"
	fixTell   = "tell the users of the tool, whose confirmations depend on it"
	fixText   = "take it out of the text, or accept it once it was read"
)

// Rules are all rules, grouped by subject. Each change has exactly one rule, which determines its
// level.
var Rules = []Rule{
	{"tool-removed", Breaking, "", "the tool was removed", fixKeep},
	{
		"tool-renamed", Breaking, "",
		"the tool was probably renamed to {is}: that one has the same schema and nearly the same description",
		fixKeep,
	},
	{"tool-added", Harmless, "", "the tool is new", ""},
	{"prompt-removed", Breaking, "", "the prompt was removed", fixKeep},
	{
		"prompt-renamed", Breaking, "",
		"the prompt was probably renamed to {is}: that one has the same arguments and nearly the same " +
			"description",
		fixKeep,
	},
	{"prompt-added", Harmless, "", "the prompt is new", ""},
	{"resource-removed", Breaking, "", "the resource was removed", fixKeep},
	{
		"resource-renamed", Breaking, "",
		"the resource probably has the new URI {is}: that one has the same name and type and nearly the " +
			"same description",
		fixKeep,
	},
	{"resource-added", Harmless, "", "the resource is new", ""},
	{"template-removed", Breaking, "", "the resource template was removed", fixKeep},
	{
		"template-renamed", Breaking, "",
		"the resource template probably became {is}: that one has the same name and type and nearly the " +
			"same description",
		fixKeep,
	},
	{"template-added", Harmless, "", "the resource template is new", ""},
	{
		"entry-unreadable", Risky, "",
		"an entry of the list has no name, so that no client can use it: {is}",
		"give the entry its name",
	},
	{"entry-dropped", Harmless, "", "an entry without a name was removed: {was}", ""},

	{
		"argument-required-added", Breaking, input,
		"{place} is new and required",
		"make it optional, with a default that keeps the old behavior",
	},
	{"argument-added", Harmless, input, "{place} is new and optional", ""},
	{
		"argument-removed-closed", Breaking, input,
		"{place} was removed, and additionalProperties is false: a call that has it is rejected",
		fixAccept,
	},
	{
		"argument-removed", Risky, input,
		"{place} was removed: a call that has it may be rejected, or does something else",
		fixAccept,
	},
	{
		"argument-required", Breaking, input,
		"{place} is now required",
		"leave it optional, with a default that keeps the old behavior",
	},
	{"argument-optional", Harmless, input, "{place} is no longer required", ""},
	{"input-type-narrowed", Breaking, input, "{place} accepts fewer types: {is} in place of {was}", fixAccept},
	{"input-type-widened", Harmless, input, "{place} accepts more types: {is} in place of {was}", ""},
	{"input-type-changed", Breaking, input, "the type of {place} changed from {was} to {is}", fixAccept},
	{"input-enum-removed", Breaking, input, "{place} no longer accepts {note}", fixAccept},
	{"input-enum-added", Harmless, input, "{place} now also accepts {note}", ""},
	{"input-range-tightened", Breaking, input, "the range of {place} is smaller: {note}", fixAccept},
	{"input-range-loosened", Harmless, input, "the range of {place} is larger: {note}", ""},
	{"input-length-tightened", Breaking, input, "the length of {place} is more limited: {note}", fixAccept},
	{"input-length-loosened", Harmless, input, "the length of {place} is less limited: {note}", ""},
	{"input-count-tightened", Breaking, input, "the number of parts of {place} is more limited: {note}", fixAccept},
	{"input-count-loosened", Harmless, input, "the number of parts of {place} is less limited: {note}", ""},
	{"input-multiple-tightened", Breaking, input, "{place} has to be a multiple of {is}", fixAccept},
	{"input-multiple-loosened", Harmless, input, "{place} no longer has to be a multiple of {was}", ""},
	{"input-multiple-changed", Breaking, input, "{place} has to be a multiple of {is} in place of {was}", fixAccept},
	{"input-pattern-added", Breaking, input, "{place} has to match the pattern {is}", fixAccept},
	{"input-pattern-removed", Harmless, input, "{place} no longer has to match the pattern {was}", ""},
	{"input-pattern-changed", Risky, input, "the pattern of {place} changed from {was} to {is}: look at it", fixLook},
	{"input-format-added", Risky, input, "the format of {place} is now {is}: a server may reject other texts", fixLook},
	{"input-format-removed", Harmless, input, "{place} no longer has the format {was}", ""},
	{"input-format-changed", Risky, input, "the format of {place} changed from {was} to {is}", fixLook},
	{"input-closed", Breaking, input, "{place} no longer accepts members that the schema does not list", fixAccept},
	{"input-opened", Harmless, input, "{place} now accepts members that the schema does not list", ""},
	{
		"input-alternative-removed", Breaking, input,
		"{place} no longer accepts one of its alternatives: {was}",
		fixAccept,
	},
	{"input-alternative-added", Harmless, input, "{place} accepts one more alternative: {is}", ""},
	{
		"input-undecided", Risky, input,
		"the schema of {place} changed in a way that mcpc could not analyze: look at it{note}",
		fixLook,
	},
	{
		"input-too-complex", Risky, input,
		"the schema of {place} is too complex to compare: look at it",
		"make the schema smaller",
	},
	{"default-added", Harmless, input, "{place} has the default {is}", ""},
	{
		"default-removed", Risky, input,
		"{place} no longer has the default {was}",
		"restore the default, or tell the users what the tool does without the argument",
	},
	{
		"default-changed", Risky, input,
		"the default of {place} changed from {was} to {is}",
		"restore the default, or tell the users what the tool does without the argument",
	},
	{
		"header-added", Risky, input,
		"{place} is now also sent as the HTTP header Mcp-Param-{is}: a client with the old definition does " +
			"not send it",
		"keep the old definition until clients have fetched the new one",
	},
	{"header-removed", Harmless, input, "{place} is no longer sent as the HTTP header Mcp-Param-{was}", ""},
	{
		"header-changed", Risky, input,
		"the HTTP header of {place} changed from Mcp-Param-{was} to Mcp-Param-{is}",
		"keep the old definition until clients have fetched the new one",
	},

	{
		"output-schema-added", Risky, output,
		"the tool has an outputSchema now: a client validates results against it",
		"make sure that each result matches it",
	},
	{"output-schema-removed", Breaking, output, "the outputSchema was removed: results may have any form", fixResult},
	{"output-member-removed", Breaking, output, "{place} was removed", fixResult},
	{"output-member-added", Harmless, output, "{place} is new", ""},
	{
		"output-member-added-closed", Risky, output,
		"{place} is new, and additionalProperties was false: a client that kept the old schema rejects the " +
			"result",
		fixResult,
	},
	{"output-member-optional", Breaking, output, "{place} may be missing now", fixResult},
	{"output-member-required", Harmless, output, "{place} is always present now", ""},
	{"output-type-widened", Breaking, output, "{place} may have more types: {is} in place of {was}", fixResult},
	{"output-type-narrowed", Harmless, output, "{place} has fewer types: {is} in place of {was}", ""},
	{"output-type-changed", Breaking, output, "the type of {place} changed from {was} to {is}", fixResult},
	{"output-enum-added", Breaking, output, "{place} may be {note} now", fixResult},
	{"output-enum-removed", Harmless, output, "{place} is no longer {note}", ""},
	{"output-range-loosened", Breaking, output, "the range of {place} is larger: {note}", fixResult},
	{"output-range-tightened", Harmless, output, "the range of {place} is smaller: {note}", ""},
	{"output-length-loosened", Breaking, output, "the length of {place} is less limited: {note}", fixResult},
	{"output-length-tightened", Harmless, output, "the length of {place} is more limited: {note}", ""},
	{"output-count-loosened", Breaking, output, "the number of parts of {place} is less limited: {note}", fixResult},
	{"output-count-tightened", Harmless, output, "the number of parts of {place} is more limited: {note}", ""},
	{"output-multiple-loosened", Breaking, output, "{place} need not be a multiple of {was} any more", fixResult},
	{"output-multiple-tightened", Harmless, output, "{place} is a multiple of {is}", ""},
	{"output-multiple-changed", Breaking, output, "{place} is a multiple of {is} in place of {was}", fixResult},
	{"output-pattern-removed", Breaking, output, "{place} need not match the pattern {was} any more", fixResult},
	{"output-pattern-added", Harmless, output, "{place} matches the pattern {is}", ""},
	{"output-pattern-changed", Risky, output, "the pattern of {place} changed from {was} to {is}: look at it", fixLook},
	{"output-format-removed", Risky, output, "{place} need not have the format {was} any more", fixLook},
	{"output-format-added", Harmless, output, "{place} has the format {is}", ""},
	{"output-format-changed", Risky, output, "the format of {place} changed from {was} to {is}", fixLook},
	{"output-opened", Risky, output, "{place} may have members that the schema does not list", fixResult},
	{"output-closed", Harmless, output, "{place} has only the members that the schema lists", ""},
	{"output-alternative-added", Breaking, output, "{place} may have one more form: {is}", fixResult},
	{"output-alternative-removed", Harmless, output, "{place} has one form fewer: {was}", ""},
	{
		"output-undecided", Risky, output,
		"the schema of {place} changed in a way that mcpc could not analyze: look at it{note}",
		fixLook,
	},
	{
		"output-too-complex", Risky, output,
		"the schema of {place} is too complex to compare: look at it",
		"make the schema smaller",
	},
	{"equivalent-form", Harmless, "", "the schema of {place} is written in another form that accepts the same", ""},
	{"schema-note-changed", Harmless, "", "a note in the schema of {place} changed", ""},
	{
		"dialect-changed", Risky, "",
		"the dialect of the schema changed from {was} to {is}, which some clients do not know",
		"use 2020-12, which clients have to know",
	},
	{"dialect-standard", Harmless, "", "the dialect of the schema is now 2020-12, which clients have to know", ""},

	{"description-rewritten", Risky, "", "the description{place} changed: {note}", fixRead},
	{"description-reworded", Harmless, "", "the description{place} changed a little: {note}", ""},
	{"title-changed", Harmless, "", "the title changed from {was} to {is}", ""},
	{"icons-changed", Harmless, "", "the icons changed", ""},
	{"meta-changed", Harmless, "", "_meta changed", ""},
	{
		"definition-changed", Risky, "",
		"the member {note} of the definition changed: look at it",
		"look at both definitions: mcpc does not know the effect of this member",
	},
	{
		"annotation-riskier", Risky, "",
		"the annotation {note} changed from {was} to {is}: the tool declares that it does more",
		fixTell,
	},
	{
		"annotation-safer", Harmless, "",
		"the annotation {note} changed from {was} to {is}: the tool declares that it does less",
		"",
	},
	{"annotation-changed", Harmless, "", "the annotation {note} changed, with no effect", ""},
	{
		"task-support-required", Breaking, "",
		"the tool can now be called as a task only (taskSupport was {was})",
		"leave taskSupport optional",
	},
	{
		"task-support-changed", Risky, "",
		"taskSupport changed from {was} to {is}",
		"leave taskSupport as it was, or tell the users",
	},
	{"mime-type-changed", Risky, "", "the MIME type changed from {was} to {is}", fixKeep},
	{"resource-note-changed", Harmless, "", "{note} changed from {was} to {is}", ""},

	{"server-changed", Harmless, "", "{note} changed from {was} to {is}", ""},
	{"revision-removed", Breaking, "", "the server no longer speaks the revision", fixKeep},
	{"revision-added", Harmless, "", "the server also speaks the revision", ""},
	{
		"authorization-added", Breaking, "",
		"the server now asks for authorization",
		"announce it, and say how to log in",
	},
	{
		"authorization-removed", Risky, "",
		"the server no longer asks for authorization",
		"make sure that this is intended",
	},
	{"capability-removed", Breaking, "", "the capability is no longer declared", fixKeep},
	{"capability-experimental-removed", Risky, "", "the experimental capability is no longer declared", fixKeep},
	{"capability-added", Harmless, "", "the capability is new", ""},
	{
		"capability-changed", Risky, "",
		"the settings of the capability changed from {was} to {is}",
		"tell the users of the capability",
	},
	{"instructions-rewritten", Risky, "", "the instructions changed: {note}", fixRead},
	{"instructions-reworded", Harmless, "", "the instructions changed a little: {note}", ""},
	{"order-changed", Harmless, "", "the order changed", ""},
	{"ttl-shortened", Harmless, "", "ttlMs is shorter: {is} in place of {was}", ""},
	{"ttl-lengthened", Harmless, "", "ttlMs is longer: {is} in place of {was}", ""},

	{"call-fails", Breaking, "", "the call had a result, and now fails: {is}", "let the call have its result again"},
	{
		"call-fails-otherwise", Risky, "",
		"the call fails in another way: {is} in place of {was}",
		"make sure that this is intended",
	},
	{"call-works", Harmless, "", "the call failed ({was}), and now has a result", ""},
	{
		"call-result-changed", Risky, "",
		"{place} in the result changed from {was} to {is}",
		"make sure that this is intended",
	},
	{"call-result-differs", Risky, "", "the result differs in {note} more", "make sure that this is intended"},

	{"poison-hidden", Risky, "", "the text has hidden characters: {note}", fixText},
	{"poison-instruction", Risky, "", "the text instructs a model: {note}", fixText},
	{"poison-secret", Risky, "", "the text asks for a secret, or names a file with secrets: {note}", fixText},
	{"poison-url", Risky, "", "the text has a new URL: {note}", fixText},
	{"poison-text", Risky, "", "the text has a sign of poisoning: {note}", fixText},
}

// RuleOf returns the rule with an id, and reports whether it exists.
func RuleOf(id string) (Rule, bool) {
	for _, r := range Rules {
		if r.ID == id {
			return r, true
		}
	}
	return Rule{}, false
}

// RuleIDs returns the ids of all rules, in the order of Rules.
func RuleIDs() []string {
	ids := make([]string, len(Rules))
	for i, r := range Rules {
		ids[i] = r.ID
	}
	return ids
}
