package arguments_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"mcpc/internal/cli/call"
	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect/arguments"
	"mcpc/internal/jsonraw"
)

// FuzzArguments: arguments are sent as the bytes that were typed or that a file has, or not at all;
// then with a reason.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{"message":"x"}`, ` {"a":1.10,"b":9007199254740993} `, `{"a":1,"a":2}`, `{"":0,"":0}`, `{"a":{"b":1,"b":2}}`, `{"\u0061":1,"a":2}`,
		`a=1`, `[]`, `{} {}`, `null`, "\xEF\xBB\xBF{}", "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `@`, `@nothing`, ``, strings.Repeat(`{"a":`, 2000),
	} {
		f.Add([]byte(s))
	}
	name := filepath.Join(f.TempDir(), "arguments")
	a := cmdutil.New(nil, nil, nil)
	a.Getenv = func(string) string { return "" }
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(name, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := arguments.Arguments(&a.Env, "@"+name)
		checkArguments(t, bytes.TrimPrefix(raw, []byte("\xEF\xBB\xBF")), got, err)
		if text := string(raw); text != "-" && !strings.HasPrefix(text, "@") {
			got, err := arguments.Arguments(&a.Env, text)
			checkArguments(t, raw, got, err)
		}
		if id := call.RawID(string(raw)); len(raw) > 0 && jsonraw.Valid(id) != nil {
			t.Errorf("the id %q becomes %s", raw, id)
		}
	})
}

// checkArguments compares the result for raw with encoding/json's, which neither rejects repeated
// names nor bounds the depth.
func checkArguments(t *testing.T, raw []byte, got json.RawMessage, err error) {
	t.Helper()
	var object map[string]json.RawMessage
	good := utf8.Valid(raw) && json.Unmarshal(raw, &object) == nil && object != nil
	switch {
	case err == nil && !bytes.Equal(got, bytes.TrimSpace(raw)):
		t.Errorf("%q becomes %q", raw, got)
	case err == nil && (!good || len(object) != names(t, raw)):
		t.Errorf("%q is taken for arguments", raw)
	case err != nil && (got != nil || err.Error() == ""):
		t.Errorf("%q: %q and %q", raw, got, err)
	case err != nil && good && len(object) == names(t, raw) && jsonraw.Valid(raw) == nil:
		t.Errorf("%q is refused: %v", raw, err)
	}
}

// names counts the members of an object, repeated members too.
func names(t *testing.T, raw []byte) (n int) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		var value json.RawMessage
		if _, err := d.Token(); err != nil {
			t.Fatal(err)
		}
		if err := d.Decode(&value); err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
