package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWalkSeesSchemasAndNoData(t *testing.T) {
	tree := Walk([]byte(`{"properties":{"a":{"items":{"not":{}}},"b":true,"default":{}},"default":{"properties":{"no":{}}},
		"enum":[{"not":{}}],"allOf":[{"if":{}}],"items":[{},false],"dependencies":{"x":["y"],"z":{}},"additionalProperties":false,"$defs":{"d":{"properties":{"e":{}}}}}`))
	var got []string
	for _, n := range tree.Nodes {
		got = append(got, fmt.Sprintf("%s %d %s %t", n.Pointer, n.Depth, n.Property, n.OnlyProperties))
	}
	want := []string{
		" 0  true", "/properties/a 1 a true", "/properties/a/items 2  false", "/properties/a/items/not 3  false", "/properties/b 1 b true",
		"/properties/default 1 default true", "/allOf/0 1  false", "/allOf/0/if 2  false", "/items/0 1  false", "/items/1 1  false",
		"/dependencies/z 1  false", "/additionalProperties 1  false", "/$defs/d 1  false", "/$defs/d/properties/e 2 e false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if tree.Depth() != 3 || tree.IsTruncated {
		t.Error(tree.Depth(), tree.IsTruncated)
	}
}

func TestWalkIsBounded(t *testing.T) {
	deep := Walk([]byte(strings.Repeat(`{"not":`, 500) + "{}" + strings.Repeat("}", 500)))
	wide := Walk([]byte(`{"allOf":[` + strings.Repeat(`{},`, 2*MaxNodes) + `{}]}`))
	if long := Walk([]byte(`{"not":{"title":"` + strings.Repeat("x", MaxBytes) + `"}}`)); !long.IsTruncated || len(long.Nodes) != 1 {
		t.Error(long.IsTruncated, len(long.Nodes))
	}
	if !deep.IsTruncated || len(deep.Nodes) != MaxDepth+1 || !wide.IsTruncated || len(wide.Nodes) != MaxNodes {
		t.Error(deep.IsTruncated, len(deep.Nodes), wide.IsTruncated, len(wide.Nodes))
	}
}

func TestBadRefs(t *testing.T) {
	for schema, want := range map[string]string{
		`{"$ref":"#"}`:                                                            "",
		`{"$ref":"#/$defs/a","$defs":{"a":{}}}`:                                   "",
		`{"$ref":"#/$defs/a~1b%25","$defs":{"a/b%":{}}}`:                          "",
		`{"$ref":"#/$defs/b","$defs":{"a":{}}}`:                                   "/$ref lost",
		`{"$ref":"#/allOf/1","allOf":[{}]}`:                                       "/$ref lost",
		`{"$ref":"#/allOf/0","allOf":[{}]}`:                                       "",
		`{"$ref":"#a","$defs":{"x":{"$anchor":"a"}}}`:                             "",
		`{"$dynamicRef":"#a","$defs":{"x":{"$dynamicAnchor":"a"}}}`:               "",
		`{"$ref":"#a"}`:                                                           "/$ref lost",
		`{"definitions":{"x":{"$id":"#a"}},"$ref":"#a"}`:                          "",
		`{"properties":{"a":{"$ref":"https://x/y"}}}`:                             "/properties/a/$ref external",
		`{"$ref":"other.json#/a"}`:                                                "/$ref external",
		`{"$ref":"https://x/y","$defs":{"a":{"$id":"https://x/y"}}}`:              "",
		`{"$id":"https://x/root","$ref":"y","$defs":{"a":{"$id":"https://x/y"}}}`: "",
		`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`:                 "",
		`{"$ref":7,"default":{"$ref":"https://x/y"}}`:                             "",
	} {
		got := ""
		for _, r := range Walk([]byte(schema)).BadRefs() {
			got += r.Pointer + map[bool]string{true: " external", false: " lost"}[r.External]
		}
		if got != want {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

func FuzzWalk(f *testing.F) {
	f.Add([]byte(`{"$ref":"#/a/0","items":[true],"$defs":{"a":{"$id":"#"}}}`))
	f.Add([]byte(`{"$ref":"#/%zz","not":{"not":{"$dynamicRef":""}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		tree := Walk(raw)
		tree.BadRefs()
		if len(tree.Nodes) == 0 || len(tree.Nodes) > MaxNodes || tree.Depth() > MaxDepth {
			t.Fatal(len(tree.Nodes))
		}
	})
}
