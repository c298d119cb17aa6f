package hidden

import (
	"encoding/json"
	"strings"
	"testing"

	"mcpc/internal/redact"
)

// raws are JSON values with SECRET in place of a placeholder and WORD in place of the value that
// was sent.
func raws(texts ...string) (all []json.RawMessage) {
	for _, text := range texts {
		text = strings.ReplaceAll(text, "SECRET", redact.Redacted("inventory"))
		all = append(all, json.RawMessage(strings.ReplaceAll(text, "WORD", "postgres")))
	}
	return all
}

func TestAlignHidesOnBothSides(t *testing.T) {
	for _, c := range []struct{ was, is string }{
		{`{"a":"SECRET"}`, `{"a":"WORD"}`},
		{`{"a":"x SECRET y"}`, `{"a":"x WORD y"}`},
		{`{"SECRET_id":{"b":1}}`, `{"WORD_id":{"b":1}}`},
		{`{"a":["b","SECRET"]}`, `{"a":["b","WORD"]}`},
		{`{"a":"SECRET"}`, `{"a":12345678}`},
		{`"SECRET"`, `{"withheld":"as a whole"}`},
		{`{"uri":"postgres://redacted@h/t"}`, `{"uri":"postgres://app:pass@h/t"}`},
		{`{"a":"SECRET and SECRET"}`, `{"a":"WORD and other"}`},
	} {
		for _, pair := range [][]json.RawMessage{raws(c.was, c.is), raws(c.is, c.was)} {
			was, is := Align(pair[0], pair[1])
			if string(was) != string(is) {
				t.Errorf("%s and %s became %s and %s", pair[0], pair[1], was, is)
			}
		}
	}
}

func TestAlignLeavesDifferences(t *testing.T) {
	for _, c := range []struct{ was, is string }{
		{`{"a":"x SECRET y"}`, `{"a":"x WORD z"}`},
		{`{"a":"SECRET","b":1}`, `{"a":"WORD","b":2}`},
		{`{"a":"SECRET"}`, `{"b":"WORD"}`},
		{`{"a":["SECRET"]}`, `{"a":["WORD","more"]}`},
		{`{"uri":"postgres://redacted@h/t"}`, `{"uri":"postgres://app:pass@other/t"}`},
		{`{"a":"plain"}`, `{"a":"other"}`},
	} {
		pair := raws(c.was, c.is)
		if was, is := Align(pair[0], pair[1]); string(was) == string(is) {
			t.Errorf("%s and %s became %s", pair[0], pair[1], was)
		}
	}
}

// Entries are found by their names in any order; a part of a name may be hidden.
func TestListsAreAlignedByName(t *testing.T) {
	was := raws(`{"name":"SECRET_query","x":"SECRET"}`, `{"name":"plain"}`, `{"name":"gone"}`)
	is := raws(`{"name":"plain"}`, `{"name":"WORD_query","x":"WORD"}`, `{"name":"new"}`)
	was, is = Lists(was, is, "name")
	if string(was[0]) != string(is[1]) {
		t.Errorf("%s and %s", was[0], is[1])
	}
	if string(was[2]) == string(is[2]) {
		t.Errorf("%s and %s are one", was[2], is[2])
	}
}

func TestPlacesOfHiddenValues(t *testing.T) {
	raw := raws(`{"result":{"content":[{"text":"a"},{"text":"b SECRET"}],"SECRET":1,"n":2}}`)[0]
	got := strings.Join(Places(raw), " ")
	if want := "/result/content/1/text /result/" + redact.Redacted("inventory"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
