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
	mostDifferences = 1000 // differences in a Report
	mostNotes       = 1000
	mostListed      = 8 << 20 // bytes of the pointers and paths in a Report
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
	// WasRevision and IsRevision are the protocol revisions of the messages, "" if unknown. If
	// only one is known, members that the other revision may lack are not compared.
	WasRevision, IsRevision string
	// Bytes requires equal bytes.
	Bytes bool
	// LengthOnly lets a hidden secret match every secret of its length, since the current run has
	// different secrets. Otherwise it matches the same secret only.
	LengthOnly bool
	// HiddenUnknown lets a hidden secret match any value.
	HiddenUnknown bool
}

// least returns the weakest fit with which a hidden value matches.
func (c Comparison) least() hidden.Fit {
	if c.HiddenUnknown {
		return hidden.ByPlace
	}
	if c.LengthOnly {
		return hidden.ByLength
	}
	return hidden.ByHash
}

// How is the way in which two values differ. If a matcher rejects them, it is the matcher's Kind.
type How string

// The ways in which values differ.
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
func Compare(was, is json.RawMessage, c Comparison) Report {
	if (was == nil || is == nil) && c.Part != Params {
		return absent(was, is)
	}
	a, wasErr := jsonvalue.Parse(was)
	b, isErr := jsonvalue.Parse(is)
	if wasErr != nil || isErr != nil {
		if bytes.Equal(was, is) {
			return Report{}
		}
		return single(Difference{Path: ".", Was: was, Is: is, How: Incomparable})
	}
	if c.Bytes {
		return compareBytes(was, is, a, b)
	}
	name := c.Name
	if name == "" && c.Part == Params {
		name = NameOf(c.Method, was)
	}
	return compareNodes(a, b, compile(c.Rules, c.Part, c.Method, name, c.WasRevision, c.IsRevision), c.least())
}

// absent compares two parts if at least one is missing.
func absent(was, is json.RawMessage) Report {
	if was != nil {
		return single(Difference{Path: ".", Was: was, How: Removed})
	}
	if is != nil {
		return single(Difference{Path: ".", Is: is, How: Added})
	}
	return Report{}
}

// single returns a report of one difference.
func single(d Difference) Report { return Report{Differences: []Difference{d}, Distance: 1} }

// compareBytes compares two values that must have equal bytes. If only the bytes differ, the report
// has one difference, Spelled.
func compareBytes(was, is json.RawMessage, a, b *jsonvalue.Node) Report {
	if bytes.Equal(was, is) {
		return Report{}
	}
	r := compareNodes(a, b, nil, hidden.ByHash)
	r.Counts = nil
	r.Notes = nil
	if r.Same() {
		r.Differences = []Difference{{Path: ".", Was: was, Is: is, How: Spelled}}
	}
	return r
}

// compareNodes compares two values. least is the weakest fit with which a hidden value matches.
func compareNodes(was, is *jsonvalue.Node, on branches, least hidden.Fit) Report {
	c := comparer{least: least}
	c.pair(was, is, nil, on)
	c.Distance = min(1, c.cost/float64(max(was.Leaves, is.Leaves)))
	return c.Report
}

// A comparer walks two values side by side.
type comparer struct {
	Report
	least  hidden.Fit
	cost   float64
	listed int
}

// A frame is the place of a value: a member, or an item by its indexes on both sides.
type frame struct {
	up      *frame
	name    string
	was, is int
	item    bool
}

// pointer returns the place on one side as a JSON pointer and as a path.
func (f *frame) pointer(onIs bool) (pointer string, path jsonvalue.Path) {
	for at := f; at != nil; at = at.up {
		step := jsonvalue.Step{Name: at.name}
		if at.item {
			step = jsonvalue.Step{Index: at.was, Item: true}
			if onIs {
				step.Index = at.is
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

// differ adds a difference. cost is its contribution to the distance, at most its number of values.
func (c *comparer) differ(at *frame, was, is *jsonvalue.Node, how How, cost float64) {
	c.cost += cost
	if len(c.Differences) == mostDifferences || c.listed > mostListed {
		c.More++
		return
	}
	pointer, path := at.pointer(was == nil)
	d := Difference{Pointer: pointer, Path: path.String(), How: how}
	if was != nil {
		d.Was = was.Raw
	}
	if is != nil {
		d.Is = is.Raw
	}
	if was != nil && is != nil {
		if other, _ := at.pointer(true); other != pointer {
			d.IsPointer = other
		}
	}
	c.listed += len(d.Pointer) + len(d.Path) + len(d.IsPointer)
	c.Differences = append(c.Differences, d)
}

// pass counts a differing value that is accepted.
func (c *comparer) pass(at *frame, kind Kind, rule *Rule) {
	if c.Counts == nil {
		c.Counts = Counts{}
	}
	c.Counts[kind]++
	if rule != nil && rule.Place.Line == 0 {
		rule = nil
	}
	if len(c.Notes) < mostNotes && c.listed <= mostListed {
		pointer, _ := at.pointer(false)
		c.listed += len(pointer)
		c.Notes = append(c.Notes, Note{pointer, kind, rule})
	}
}

// meet records that a rule of a file applies to a value.
func (c *comparer) meet(rule *Rule) {
	if rule != nil && rule.Matcher.Kind != Protocol {
		if c.Met == nil {
			c.Met = map[*Rule]bool{}
		}
		c.Met[rule] = true
	}
}

// pair compares the values at a place. on are the branches of the values.
func (c *comparer) pair(was, is *jsonvalue.Node, at *frame, on branches) {
	rule := on.rule()
	c.meet(rule)
	switch {
	case rule != nil && rule.Matcher.leafwise() && !was.Is(is):
		if rule.Matcher.accepts(was, is) {
			c.pass(at, rule.Matcher.Kind, rule)
		} else {
			c.leaf(was, is, at, How(rule.Matcher.Kind))
		}
	case was.Kind != is.Kind:
		c.leaf(was, is, at, TypeChanged)
	case was.Kind == jsonvalue.Object:
		c.members(was, is, at, on)
	case was.Kind == jsonvalue.Array && rule != nil && rule.Matcher.Kind == Unordered:
		c.unordered(was, is, at, on, rule)
	case was.Kind == jsonvalue.Array:
		c.items(was, is, at, on)
	case was.Text != is.Text:
		c.leaf(was, is, at, Changed)
	case was.Kind == jsonvalue.Number && !bytes.Equal(was.Raw, is.Raw):
		c.pass(at, Normalised, nil)
	}
}

// leaf compares two differing values as a whole: it accepts matching secrets and adds a difference
// otherwise.
func (c *comparer) leaf(was, is *jsonvalue.Node, at *frame, how How) {
	fit := hidden.Compare(was, is)
	if fit == hidden.ByHash {
		c.pass(at, ByHash, nil)
		return
	}
	if fit == hidden.ByLength && c.least <= fit {
		c.pass(at, ByLength, nil)
		return
	}
	if c.least == hidden.ByPlace && hidden.Unknown(was, is) {
		c.pass(at, ByPlace, nil)
		return
	}
	cost := float64(max(was.Leaves, is.Leaves))
	if was.Kind == jsonvalue.String && is.Kind == jsonvalue.String {
		cost = 1 - jsonvalue.Alike(was.Text, is.Text)/2
	}
	if hidden.Comparable(was, is) {
		how = HiddenOther
	}
	c.differ(at, was, is, how, cost)
}

// members compares the members of two objects, which are sorted by name.
func (c *comparer) members(was, is *jsonvalue.Node, at *frame, on branches) {
	left := was.Kids
	right := is.Kids
	if c.least == hidden.ByPlace {
		left, right = hidden.Names(left, right)
	}
	i := 0
	j := 0
	for i < len(left) || j < len(right) {
		order := 0
		switch {
		case i == len(left):
			order = 1
		case j == len(right):
			order = -1
		default:
			order = jsonvalue.CompareNames(left[i].Name, right[j].Name)
		}
		switch {
		case order < 0:
			c.lone(left[i], nil, &frame{up: at, name: left[i].Name}, on)
			i++
		case order > 0:
			c.lone(nil, right[j], &frame{up: at, name: right[j].Name}, on)
			j++
		default:
			name := left[i].Name
			c.pair(left[i], right[j], &frame{up: at, name: name}, on.member(name))
			i++
			j++
		}
	}
}

// lone compares a member that only one side has. on are the branches of the object.
func (c *comparer) lone(was, is *jsonvalue.Node, at *frame, on branches) {
	n := was
	how := Removed
	if was == nil {
		n = is
		how = Added
	}
	on = on.member(n.Name)
	c.meet(on.rule())
	rule := on.rule()
	kind := on.kind()
	switch {
	case kind == Ignore || kind == Protocol:
		c.pass(at, kind, rule)
	case on.empty() && hollow(n, on) && len(n.Kids) == 0:
		c.pass(at, Normalised, nil)
	case on.empty() && hollow(n, on):
		c.pass(at, Protocol, nil) // it has members of the protocol
	default:
		c.differ(at, was, is, how, float64(n.Leaves))
	}
}

// hollow reports whether n is an object without members that are compared.
func hollow(n *jsonvalue.Node, on branches) bool {
	for _, kid := range n.Kids {
		if kind := on.member(kid.Name).kind(); kind != Ignore && kind != Protocol {
			return false
		}
	}
	return n.Kind == jsonvalue.Object
}
