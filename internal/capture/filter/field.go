package filter

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"mcpc/internal/capture/rows"
	"mcpc/internal/exchange"
	"mcpc/internal/redact"
	"mcpc/internal/wire"
)

// A field is a property of rows that a filter can ask for. Exactly one member of text, number,
// traits, inTraffic and byJudge is set.
type field struct {
	name string
	// valueHint describes a value for error messages.
	valueHint string
	// text returns the text that is matched with globs and regular expressions.
	text func(*rows.Row) string
	// moreTexts, if set, returns more texts for a value that begins with notificationPrefix.
	moreTexts func(*rows.Row) []string
	// shortText, if set, returns a second text that a value may match: the name without the version.
	shortText func(*rows.Row) string
	// excludesEmpty is set if no glob matches an empty text, not even *.
	excludesEmpty bool
	// knownTexts returns all possible texts; nil if there may be any text.
	knownTexts func() []string
	// number returns the number that is compared, and whether the row has one.
	number func(*rows.Row) (int64, bool)
	// bounds returns the lowest and the highest number that a value covers.
	bounds func(text string, now time.Time) (low, high int64, ok bool)
	// hasBounds is set if rows.Page.Bounds bounds the numbers of a page.
	hasBounds bool
	// defaultOperator is the comparison if the filter names no operator; "" is equality.
	defaultOperator string
	// traits are the possible values if each is a property of rows.
	traits []trait
	// inTraffic is set if the value is searched for in the traffic.
	inTraffic bool
	// matchesLine, if set, finds a value of a field inTraffic in a line of the capture, instead of in a message.
	matchesLine func(value, line string) bool
	// byJudge is set if the Judge knows the values.
	byJudge bool
}

// notificationPrefix begins the methods of notifications. Such a method also selects the requests with that
// notification.
const notificationPrefix = "notifications/"

// A trait is a property that a row has or has not. If kinds is set, it is a property of messages that are not
// forwarded yet.
type trait struct {
	name  string
	test  func(*rows.Row) bool
	kinds []wire.MessageKind
}

var fields = []field{
	{
		name: "method", valueHint: "a method: tools/call, tools/*", text: func(r *rows.Row) string { return r.Method },
		moreTexts: func(r *rows.Row) []string { return r.Notified },
	},
	{name: "name", valueHint: "a name: get-sum, get-*", text: func(r *rows.Row) string { return r.Name }},
	{name: "target", valueHint: "a server: demo, *example.com*", text: func(r *rows.Row) string { return r.Target }},
	{
		name:       "channel",
		valueHint:  "an outcome: ok, tool_error, rpc_error",
		text:       func(r *rows.Row) string { return r.Channel },
		knownTexts: channels,
	},
	{name: "era", valueHint: "an era", text: func(r *rows.Row) string { return r.Era }},
	{
		name: "protocol", valueHint: "a revision of the protocol: 2025-*",
		text: func(r *rows.Row) string { return r.Revision },
	},
	{name: "id", valueHint: "the id of a request: 7", text: func(r *rows.Row) string { return r.ID }},
	{
		name:       "dir",
		valueHint:  "direction: sent (by the client), received",
		text:       func(r *rows.Row) string { return r.Dir.String() },
		knownTexts: directions,
	},
	{name: "client", valueHint: "the client's name: claude*", text: (*rows.Row).Client, shortText: (*rows.Row).ClientName},
	{name: "server", valueHint: "the server's name: git*", text: (*rows.Row).Server, shortText: (*rows.Row).ServerName},
	{name: "session", valueHint: "the hash of a session's id: 1a2b, *", text: (*rows.Row).Session, excludesEmpty: true},
	{
		name:      "conn",
		valueHint: "the number of a connection in its run: 3",
		number:    func(r *rows.Row) (int64, bool) { return int64(r.Conn), r.HasConn() },
		bounds:    integerBounds,
	},
	{name: "kind", valueHint: "a frame kind: stderr, event", traits: kindTraits()},
	{name: "http", valueHint: "a status: 404, 4xx, >=400", number: status, bounds: statusBounds},
	{name: "exit", valueHint: "an exit code: 5, !=0", number: exit, bounds: integerBounds},
	{name: "dur", valueHint: "a time: >500ms, 1s..2s", number: duration, bounds: durationBounds, hasBounds: true},
	{
		name:      "ttfb",
		valueHint: "a time to the first byte: >500ms, 1s..2s",
		number:    func(r *rows.Row) (int64, bool) { return int64(r.TimeToFirst), r.TimeToFirst > 0 },
		bounds:    durationBounds,
		hasBounds: true,
	},
	{
		name:      "size",
		valueHint: "a size: >1mb, 10kb..20kb",
		number:    func(r *rows.Row) (int64, bool) { return r.Size(), true },
		bounds:    sizeBounds,
		hasBounds: true,
	},
	{
		name:      "time",
		valueHint: "a time: 2026-01-31, >=15:04, 15:00..15:30",
		number:    requestTime,
		bounds:    timeBounds,
		hasBounds: true,
	},
	{
		name:            "since",
		valueHint:       "how long ago, or a time: 10m, 2h, 3d, 2026-01-31, 15:04",
		number:          requestTime,
		bounds:          sinceBounds,
		hasBounds:       true,
		defaultOperator: ">=",
	},
	{name: "run", valueHint: "the number of a run: 42, 40..45", number: run, bounds: integerBounds},
	{name: "finding", valueHint: "a rule, a tag or a severity of mcpc check: L106, client-*, error", byJudge: true},
	{name: "has", valueHint: "what a row can have: finding, retry", traits: hasTraits},
	{name: "is", valueHint: "what a row can be: open, error", traits: isTraits},
	{name: "secret", valueHint: "the hash of a secret that was hidden: 1a2b, *", inTraffic: true, matchesLine: hasSecret},
	{name: "body", valueHint: "a text in a message", inTraffic: true},
}

// unsampledFields are the fields whose values a sample of rows does not have.
var unsampledFields = []string{"id", "dur", "ttfb", "size", "time", "since", "has"}

// otherNames are alternative names of fields.
var otherNames = map[string]string{"outcome": "channel", "took": "dur", "duration": "dur", "tool": "name"}

// foreignNames are names that other programs use, with the field of mcpc. Errors suggest the field.
var foreignNames = map[string]string{
	"ms": "dur", "latency": "dur", "elapsed": "dur", "uri": "name", "url": "target", "host": "target",
	"status": "http", "code": "http", "version": "protocol", "bytes": "size", "text": "body",
}

// Fields returns all names of fields.
func Fields() []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return append(names, slices.Sorted(maps.Keys(otherNames))...)
}

// isField reports whether a lower-case name names a field, in mcpc or in another program.
func isField(name string) bool { return slices.Contains(Fields(), name) || foreignNames[name] != "" }

// suggestTerm returns the term that a lower-case name and a value probably mean. The value includes
// its comparison.
func suggestTerm(name, value string) string {
	if name == "ms" && strings.Trim(value, "<>=!0123456789.") == "" {
		value += "ms"
	}
	if name == "status" && slices.Contains([]string{"failed", "error", "failure"}, strings.ToLower(value)) {
		return "is:error"
	}
	return cmp.Or(otherNames[name], foreignNames[name], name) + ":" + value
}

func run(r *rows.Row) (int64, bool) { return int64(r.Run), r.Run > 0 }

func status(r *rows.Row) (int64, bool) { return int64(r.Status), r.Status > 0 }

func exit(r *rows.Row) (int64, bool) { return int64(r.Exit), r.Exit >= 0 }

func duration(r *rows.Row) (int64, bool) { return int64(r.Duration), true }

func requestTime(r *rows.Row) (int64, bool) { return r.Time.UnixNano(), !r.Time.IsZero() }

func directions() []string { return []string{wire.Sent.String(), wire.Received.String()} }

// hasSecret reports whether a secret with this hash was hidden in a line.
func hasSecret(hash, line string) bool {
	return slices.ContainsFunc(redact.HashesIn(line), func(h string) bool { return MatchGlob(hash, h) })
}

// channels returns the names of all channels.
func channels() []string {
	names := slices.Clone(exchange.OtherChannels)
	for _, e := range wire.ExitCodes {
		if e.Kind != wire.OK {
			names = append(names, string(e.Kind))
		}
	}
	return names
}

// kindTraits returns a trait for each kind of frame: the row has such a frame.
func kindTraits() []trait {
	var traits []trait
	for kind := wire.Body; kind <= wire.Held; kind++ {
		traits = append(traits, trait{name: kind.String(), test: func(r *rows.Row) bool { return r.Kinds.Has(kind) }})
	}
	return traits
}

// hasFinding is the trait of rows with a finding. The Judge is asked if the listing has no finding.
const hasFinding = "finding"

var hasTraits = []trait{
	{name: hasFinding, test: func(r *rows.Row) bool { return len(r.Findings) > 0 }},
	{name: "retry", test: func(r *rows.Row) bool { return r.Notes.Retries > 0 || r.SameAs != nil }},
	{name: "resume", test: func(r *rows.Row) bool { return r.Notes.Resumed > 0 }},
	{name: "round", test: func(r *rows.Row) bool { return r.Notes.Rounds > 0 }},
	{name: "notification", test: func(r *rows.Row) bool { return r.Notes.Notifications > 0 }},
	{name: "question", test: func(r *rows.Row) bool { return r.Notes.Questions > 0 }},
	{name: "fault", test: func(r *rows.Row) bool { return r.Kinds.Has(wire.Fault) }},
	{name: "guess", test: func(r *rows.Row) bool { return r.IsGuess || r.Notes.Guessed+len(r.Guesses) > 0 }},
}

var isTraits = []trait{
	{name: "open", test: func(r *rows.Row) bool { return r.IsOpen() }},
	{name: "error", test: (*rows.Row).Failed},
	{name: "cancelled", test: func(r *rows.Row) bool { return r.Cancel != nil }},
	{name: "late", test: func(r *rows.Row) bool { return r.Cancel != nil && r.Cancel.IsLate }},
	{name: "probe", test: func(r *rows.Row) bool { return r.Channel == exchange.ChannelProbe }},
	{name: exchange.ChannelUnreadable, test: func(r *rows.Row) bool { return r.Channel == exchange.ChannelUnreadable }},
	{name: "orphan", test: func(r *rows.Row) bool { return r.Orphan }},
	{name: "held", test: func(r *rows.Row) bool { return r.Kinds.Has(wire.Held) }},
	{name: "edited", test: func(r *rows.Row) bool { return r.Edited }},
}
