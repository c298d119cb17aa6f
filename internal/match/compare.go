package match

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mcpc/internal/jsonraw"
	"mcpc/internal/match/hidden"
	"mcpc/internal/match/jsonvalue"
)

// The limits of a Report.
const (
	maxDifferences = 1000 // differences in a Report
	maxNotes       = 1000
	maxListedBytes = 8 << 20 // bytes of the pointers and paths in a Report
)

// A Comparison configures Compare.
type Comparison struct {
	Rules *Rules
	// Part is the part of a message that the two values are. "" is any other value; Rules and the
	// protocol's members do not apply to it.
	Part   Part
	Method string
	// Name is the name of the tool or prompt, or the URI of the resource. For Params it is read
	// from the first value if it is "".
	Name string
	// RecordedRevision and CurrentRevision are the protocol revisions of the messages, "" if unknown. If
	// only one is known, members that the other revision may lack are not compared.
	RecordedRevision, CurrentRevision string
	// Bytes requires equal bytes.
	Bytes bool
	// LengthOnly lets a hidden secret match every secret of its length, since the current run has
	// different secrets. Otherwise it matches the same secret only.
	LengthOnly bool
	// HiddenUnknown lets a hidden secret match any value.
	HiddenUnknown bool
}

// weakestFit returns the weakest fit that lets a hidden value match.
func (c Comparison) weakestFit() hidden.Fit {
	if c.HiddenUnknown {
		return hidden.ByPlace
	}
	if c.LengthOnly {
		return hidden.ByLength
	}
	return hidden.ByHash
}

// How describes how two values differ. If a matcher rejects them, it is the matcher's Kind.
type How string

// The ways that values can differ in.
const (
	Changed      How = "changed"
	TypeChanged  How = "type"
	Added        How = "added"
	Removed      How = "removed"
	HiddenOther  How = "secret"       // hidden on one side, and not the same
	Spelled      How = "bytes"        // equal values in other bytes, with Comparison.Bytes
	Incomparable How = "incomparable" // not JSON, or too large
)

// A Difference is one value that differs between the two sides.
type Difference struct {
	// Pointer is the JSON pointer (RFC 6901) of the value, and Path the same place as a jq path.
	// IsPointer is the pointer on the side of Is; it is set only if list items moved.
	Pointer, Path, IsPointer string
	// Was and Is are the values of the two sides, nil if missing.
	Was, Is json.RawMessage
	How     How
}

// A Note is a differing value that was accepted.
type Note struct {
	Pointer string
	Kind    Kind
	// Rule is the rule of a file that accepts the value, or nil.
	Rule *Rule
}

// A Report is the result of Compare.
type Report struct {
	Differences []Difference
	// More is the number of differences that are not listed.
	More int
	// Counts are the numbers of accepted values that differ, and Notes are the first of them.
	Counts Counts
	Notes  []Note
	// Met are the rules that apply to at least one value, equal or not.
	Met map[*Rule]bool
	// Distance is the share of differing values, from 0 to 1. Similar texts count less.
	Distance float64
}

// Same reports whether there is no difference.
func (r Report) Same() bool { return len(r.Differences) == 0 }

// HangsOnHidden reports whether a hidden secret was matched by its hash or length. This is weaker
// evidence than equal values: the hash has 16 bits.
func (r Report) HangsOnHidden() bool { return r.Counts[ByHash]+r.Counts[ByLength] > 0 }

// Compare compares two JSON values. Nil Params are {}. Any other part that is nil on only one side
// was added or removed.
func Compare(recorded, current json.RawMessage, c Comparison) Report {
	if (recorded == nil || current == nil) && c.Part != Params {
		return compareAbsent(recorded, current)
	}
	a, wasErr := jsonvalue.Parse(recorded)
	b, isErr := jsonvalue.Parse(current)
	if wasErr != nil || isErr != nil {
		if bytes.Equal(recorded, current) {
			return Report{}
		}
		return reportOf(Difference{Path: ".", Was: recorded, Is: current, How: Incomparable})
	}
	if c.Bytes {
		return compareBytes(recorded, current, a, b)
	}
	name := c.Name
	if name == "" && c.Part == Params {
		name = NameOf(c.Method, recorded)
	}
	rules := compile(c.Rules, c.Part, c.Method, name, c.RecordedRevision, c.CurrentRevision)
	return compareNodes(a, b, rules, c.weakestFit())
}

// compareAbsent compares two parts if at least one is missing.
func compareAbsent(recorded, current json.RawMessage) Report {
	if recorded != nil {
		return reportOf(Difference{Path: ".", Was: recorded, How: Removed})
	}
	if current != nil {
		return reportOf(Difference{Path: ".", Is: current, How: Added})
	}
	return Report{}
}

// reportOf returns a report of one difference.
func reportOf(d Difference) Report { return Report{Differences: []Difference{d}, Distance: 1} }

// compareBytes compares two values that must have equal bytes. If only the bytes differ, the report
// has one difference, Spelled.
func compareBytes(recorded, current json.RawMessage, a, b *jsonvalue.Node) Report {
	if bytes.Equal(recorded, current) {
		return Report{}
	}
	r := compareNodes(a, b, nil, hidden.ByHash)
	r.Counts = nil // no differing value is accepted
	r.Notes = nil
	if r.Same() {
		r.Differences = []Difference{{Path: ".", Was: recorded, Is: current, How: Spelled}}
	}
	return r
}

// compareNodes compares two values. weakestFit is the weakest fit that lets a hidden value match.
func compareNodes(recorded, current *jsonvalue.Node, scope branches, weakestFit hidden.Fit) Report {
	c := comparer{weakestFit: weakestFit}
	c.compare(recorded, current, nil, scope)
	c.Distance = min(1, c.cost/float64(max(recorded.Leaves, current.Leaves)))
	return c.Report
}

// A comparer walks two values side by side.
type comparer struct {
	Report
	weakestFit  hidden.Fit
	cost        float64
	listedBytes int
}

// A frame is the place of a value: a member, or an item by its indexes on both sides.
type frame struct {
	parent                      *frame
	name                        string
	recordedIndex, currentIndex int
	isItem                      bool
}

// pointer returns the place as a JSON pointer and as a path: on the current side if isCurrent is set,
// else on the recorded side.
func (f *frame) pointer(isCurrent bool) (pointer string, path jsonvalue.Path) {
	for ancestor := f; ancestor != nil; ancestor = ancestor.parent {
		step := jsonvalue.Step{Name: ancestor.name}
		if ancestor.isItem {
			step = jsonvalue.Step{Index: ancestor.recordedIndex, Item: true}
			if isCurrent {
				step.Index = ancestor.currentIndex
			}
		}
		path = append(path, step)
	}
	slices.Reverse(path)
	var b strings.Builder
	for _, step := range path {
		name := step.Name
		if step.Item {
			name = strconv.Itoa(step.Index)
		}
		b.WriteString(jsonraw.Pointer("", name))
	}
	return b.String(), path
}

// addDifference adds a difference. cost is its contribution to the distance, at most its number of
// values.
func (c *comparer) addDifference(place *frame, recorded, current *jsonvalue.Node, how How, cost float64) {
	c.cost += cost
	if len(c.Differences) == maxDifferences || c.listedBytes > maxListedBytes {
		c.More++
		return
	}
	isCurrent := recorded == nil // an added value has a place on the current side only
	pointer, path := place.pointer(isCurrent)
	d := Difference{Pointer: pointer, Path: path.String(), How: how}
	if recorded != nil {
		d.Was = recorded.Raw
	}
	if current != nil {
		d.Is = current.Raw
	}
	if recorded != nil && current != nil {
		if other, _ := place.pointer(true); other != pointer {
			d.IsPointer = other
		}
	}
	c.listedBytes += len(d.Pointer) + len(d.Path) + len(d.IsPointer)
	c.Differences = append(c.Differences, d)
}

// accept counts a differing value that is accepted.
func (c *comparer) accept(place *frame, kind Kind, rule *Rule) {
	if c.Counts == nil {
		c.Counts = Counts{}
	}
	c.Counts[kind]++
	if rule != nil && rule.Place.Line == 0 {
		rule = nil // it is the protocol's, not of a file
	}
	if len(c.Notes) < maxNotes && c.listedBytes <= maxListedBytes {
		pointer, _ := place.pointer(false)
		c.listedBytes += len(pointer)
		c.Notes = append(c.Notes, Note{pointer, kind, rule})
	}
}

// recordRule records that a rule of a file applies to a value.
func (c *comparer) recordRule(rule *Rule) {
	if rule != nil && rule.Matcher.Kind != Protocol {
		if c.Met == nil {
			c.Met = map[*Rule]bool{}
		}
		c.Met[rule] = true
	}
}

// compare compares the values at a place. scope has the branches of the values. A matcher is asked
// before the types are compared, because some accept values of two types.
func (c *comparer) compare(recorded, current *jsonvalue.Node, place *frame, scope branches) {
	rule := scope.rule()
	c.recordRule(rule)
	switch {
	case rule != nil && rule.Matcher.decidesWhole() && !recorded.Is(current):
		if rule.Matcher.accepts(recorded, current) {
			c.accept(place, rule.Matcher.Kind, rule)
		} else {
			c.compareWhole(recorded, current, place, How(rule.Matcher.Kind))
		}
	case recorded.Kind != current.Kind:
		c.compareWhole(recorded, current, place, TypeChanged)
	case recorded.Kind == jsonvalue.Object:
		c.compareMembers(recorded, current, place, scope)
	case recorded.Kind == jsonvalue.Array && rule != nil && rule.Matcher.Kind == Unordered:
		c.compareUnordered(recorded, current, place, scope, rule)
	case recorded.Kind == jsonvalue.Array:
		c.compareItems(recorded, current, place, scope)
	case recorded.Text != current.Text:
		c.compareWhole(recorded, current, place, Changed)
	case recorded.Kind == jsonvalue.Number && !bytes.Equal(recorded.Raw, current.Raw):
		c.accept(place, Normalised, nil)
	}
}

// compareWhole compares two differing values as a whole: it accepts matching secrets and adds a
// difference otherwise.
func (c *comparer) compareWhole(recorded, current *jsonvalue.Node, place *frame, how How) {
	fit := hidden.Compare(recorded, current)
	if fit == hidden.ByHash {
		c.accept(place, ByHash, nil)
		return
	}
	if fit == hidden.ByLength && c.weakestFit <= fit {
		c.accept(place, ByLength, nil)
		return
	}
	if c.weakestFit == hidden.ByPlace && hidden.MayBeEqual(recorded, current) {
		c.accept(place, ByPlace, nil)
		return
	}
	cost := float64(max(recorded.Leaves, current.Leaves))
	if recorded.Kind == jsonvalue.String && current.Kind == jsonvalue.String {
		cost = 1 - jsonvalue.Alike(recorded.Text, current.Text)/2
	}
	if hidden.Comparable(recorded, current) { // the difference is in a secret that is hidden on one side
		how = HiddenOther
	}
	c.addDifference(place, recorded, current, how, cost)
}

// compareMembers compares the members of two objects, which are sorted by name.
func (c *comparer) compareMembers(recorded, current *jsonvalue.Node, place *frame, scope branches) {
	left := recorded.Kids
	right := current.Kids
	if c.weakestFit == hidden.ByPlace { // a hidden name then matches every name that fits
		left, right = hidden.Names(left, right)
	}
	i := 0
	j := 0
	for i < len(left) || j < len(right) {
		order := -1 // only the left side has members left
		if i == len(left) {
			order = 1
		} else if j < len(right) {
			order = jsonvalue.CompareNames(left[i].Name, right[j].Name)
		}
		switch {
		case order < 0:
			c.compareUnpaired(left[i], nil, &frame{parent: place, name: left[i].Name}, scope)
			i++
		case order > 0:
			c.compareUnpaired(nil, right[j], &frame{parent: place, name: right[j].Name}, scope)
			j++
		default:
			name := left[i].Name
			c.compare(left[i], right[j], &frame{parent: place, name: name}, scope.member(name))
			i++
			j++
		}
	}
}

// compareUnpaired compares a member that only one side has. scope has the branches of the object.
func (c *comparer) compareUnpaired(recorded, current *jsonvalue.Node, place *frame, scope branches) {
	n := recorded
	how := Removed
	if recorded == nil {
		n = current
		how = Added
	}
	scope = scope.member(n.Name)
	c.recordRule(scope.rule())
	rule := scope.rule()
	kind := scope.kind()
	switch {
	case kind == Ignore || kind == Protocol:
		c.accept(place, kind, rule)
	case scope.allowsEmpty() && isHollow(n, scope) && len(n.Kids) == 0:
		c.accept(place, Normalised, nil)
	case scope.allowsEmpty() && isHollow(n, scope):
		c.accept(place, Protocol, nil) // it has members of the protocol
	default:
		c.addDifference(place, recorded, current, how, float64(n.Leaves))
	}
}

// isHollow reports whether n is an object without members that are compared.
func isHollow(n *jsonvalue.Node, scope branches) bool {
	for _, kid := range n.Kids {
		if kind := scope.member(kid.Name).kind(); kind != Ignore && kind != Protocol {
			return false
		}
	}
	return n.Kind == jsonvalue.Object
}
