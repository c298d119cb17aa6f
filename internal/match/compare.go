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

const (
	mostDifferences = 1000 // that a Report lists
	mostNotes       = 1000
	mostListed      = 8 << 20 // bytes of the places in a Report, beyond which none is added
)

// A Comparison says what is compared, and what may differ.
type Comparison struct {
	Rules *Rules
	// Part is what the two values are of a message; "" is a value that is no part of one, to
	// which neither Rules nor the protocol's members apply.
	Part   Part
	Method string
	// Name is that of the tool or the prompt, or the resource's URI. For Params it is read
	// from the first value where it is "".
	Name string
	// WasRevision and IsRevision are those in which the messages were sent; "" where they are
	// not known. Where one is known alone, members that the other may lack are not compared.
	WasRevision, IsRevision string
	// Bytes compares the bytes: the level exact.
	Bytes bool
	// LengthOnly says that the secrets of the present run are others than the recorded ones:
	// a hidden secret matches each of its length. Without it only the same one matches.
	LengthOnly bool
	// HiddenUnknown says that what is hidden on one side is not known: any value in its place matches.
	HiddenUnknown bool
}

// least returns the least fit of a hidden value that matches.
func (c Comparison) least() hidden.Fit {
	if c.HiddenUnknown {
		return hidden.ByPlace
	}
	if c.LengthOnly {
		return hidden.ByLength
	}
	return hidden.ByHash
}

// How says in which way two values differ; for a matcher that does not accept them it is the
// Kind of that matcher.
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

// A Difference is one value that is not the same on both sides.
type Difference struct {
	// Pointer is where it is (RFC 6901), and Path the same as a jq path. ISPointer is where it
	// is on the side of Is, set only where items of a list moved.
	Pointer, Path, IsPointer string
	// Was and Is are the bytes on either side, nil where there is no value.
	Was, Is json.RawMessage
	How     How
}

// A Note is a value that differs and was let pass.
type Note struct {
	Pointer string
	Kind    Kind
	// Rule is the one of a file that let it pass, or nil.
	Rule *Rule
}

// A Report says how two values differ.
type Report struct {
	Differences []Difference
	// More is how many differences are not listed.
	More int
	// Counts are the values that differ and were let pass, and Notes where the first of them are.
	Counts Counts
	Notes  []Note
	// Met are the rules that a value was found for, whether it differed or not.
	Met map[*Rule]bool
	// Distance is 0 for equal values and at most 1: the share of the values that differ, where
	// texts that are alike differ by less.
	Distance float64
}

// Same reports that there is no difference.
func (r Report) Same() bool { return len(r.Differences) == 0 }

// HangsOnHidden reports that a hidden secret was matched, which proves less than its value
// would: the hash has 16 bits.
func (r Report) HangsOnHidden() bool { return r.Counts[ByHash]+r.Counts[ByLength] > 0 }

// Compare lists the differences between two JSON values. Params that are nil are {}; any
// other part that is nil on one side alone was added or removed.
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

// absent compares parts of which at least one is missing.
func absent(was, is json.RawMessage) Report {
	if was != nil {
		return single(Difference{Path: ".", Was: was, How: Removed})
	}
	if is != nil {
		return single(Difference{Path: ".", Is: is, How: Added})
	}
	return Report{}
}

func single(d Difference) Report { return Report{Differences: []Difference{d}, Distance: 1} }

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

// compareNodes compares two values; least is the least fit of a hidden value that matches.
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

// pointer is the JSON pointer of the place on one side, and path the same as a jq path.
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

// differ notes a difference that costs so much, at most the values in it.
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

// pass counts a value that differs and is let pass.
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

// meet notes that there is a value for a rule of a file.
func (c *comparer) meet(rule *Rule) {
	if rule != nil && rule.Matcher.Kind != Protocol {
		if c.Met == nil {
			c.Met = map[*Rule]bool{}
		}
		c.Met[rule] = true
	}
}

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

// leaf compares values that differ and have no part in common.
func (c *comparer) leaf(was, is *jsonvalue.Node, at *frame, how How) {
	switch fit := hidden.Compare(was, is); {
	case fit == hidden.ByHash:
		c.pass(at, ByHash, nil)
		return
	case fit == hidden.ByLength && c.least <= fit:
		c.pass(at, ByLength, nil)
		return
	case c.least == hidden.ByPlace && hidden.Unknown(was, is):
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

// lone judges a member that one side alone has; on is about the object.
func (c *comparer) lone(was, is *jsonvalue.Node, at *frame, on branches) {
	n := was
	how := Removed
	if was == nil {
		n = is
		how = Added
	}
	on = on.member(n.Name)
	c.meet(on.rule())
	switch rule, kind := on.rule(), on.kind(); {
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

// hollow reports an object in which nothing is that is compared.
func hollow(n *jsonvalue.Node, on branches) bool {
	for _, kid := range n.Kids {
		if kind := on.member(kid.Name).kind(); kind != Ignore && kind != Protocol {
			return false
		}
	}
	return n.Kind == jsonvalue.Object
}
