package state

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func save(t *testing.T, s *Store, key string, list ToolList) {
	t.Helper()
	if err := s.SaveTools(t.Context(), key, list); err != nil {
		t.Fatal(err)
	}
}

// oddTools is everything that a re-encoder would spoil.
func oddTools() ToolList {
	ttl := int64(5000)
	raws := []string{
		`{"name":"get-sum","inputSchema":{"type":"object"}}`,
		"{ \"name\" : \"a\",\n\t\"x\":1.10, \"x\":9007199254740993, \"y\":1e400, \"z\":\"<b>&\\u003c\" }",
		"", "\n\n", "\xff\xfe not JSON", "{\"big\":\"" + strings.Repeat("é", 50_000) + "\"}",
	}
	list := ToolList{FetchedAt: day(1), TTLms: &ttl}
	for i, raw := range raws {
		list.Tools = append(list.Tools, Tool{Name: fmt.Sprintf("t%d\n\"\xff 日本", i), Raw: []byte(raw)})
	}
	return list
}

func TestToolsKeepTheirBytes(t *testing.T) {
	for name, want := range map[string]ToolList{
		"none": {FetchedAt: day(0)}, "odd": oddTools(), "many": manyTools(3000),
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			if got, err := s.Tools("k"); got != nil || err != nil {
				t.Errorf("nothing is remembered: %v, %v", got, err)
			}
			save(t, s, "k", want)
			got, err := s.Tools("k")
			if err != nil || !reflect.DeepEqual(*got, want) {
				t.Errorf("got %v, %v", got, err)
			}
			for _, w := range want.Tools {
				tool, list, err := s.Tool("k", w.Name)
				if err != nil || tool == nil || !bytes.Equal(tool.Raw, w.Raw) || !list.FetchedAt.Equal(want.FetchedAt) {
					t.Fatalf("%q: got %v, %v", w.Name, tool, err)
				}
			}
			if tool, list, err := s.Tool("k", "no such"); tool != nil || list == nil || err != nil {
				t.Errorf("got %v, %v, %v", tool, list, err)
			}
			if err := s.DropTools("k"); err != nil {
				t.Fatal(err)
			}
			if tool, list, err := s.Tool("k", "x"); tool != nil || list != nil || err != nil {
				t.Errorf("dropped: got %v, %v, %v", tool, list, err)
			}
			if err := s.DropTools("k"); err != nil {
				t.Errorf("dropping what is not there: %v", err)
			}
		})
	}
}

// Whatever part of a list's file survives, the reader returns the true bytes or reports that the
// file is damaged.
func TestBrokenToolsFile(t *testing.T) {
	s := newStore(t)
	list := oddTools()
	list.Tools = list.Tools[:5]
	save(t, s, "k", list)
	path := s.dir.file(toolsName, hashed("k"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, raw []byte) {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Tools("k"); !IsReason(err, Damaged) {
			t.Fatalf("%s: got %v, %v", what, got, err)
		}
		for _, want := range list.Tools {
			if got, _, err := s.Tool("k", want.Name); err == nil && (got == nil || !bytes.Equal(got.Raw, want.Raw)) {
				t.Fatalf("%s: %q became %v", what, want.Name, got)
			}
		}
	}
	for n := range whole {
		check(fmt.Sprintf("cut at %d", n), whole[:n])
	}
	for i := range whole {
		zeroed := bytes.Clone(whole)
		zeroed[i] = 0
		check(fmt.Sprintf("zeroed at %d", i), zeroed)
	}
	save(t, s, "k", list) // and a good one takes its place
	if got, err := s.Tools("k"); err != nil || !reflect.DeepEqual(*got, list) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFreshUntil(t *testing.T) {
	ms := func(n int64) *int64 { return &n }
	at := day(0)
	for _, c := range []struct {
		ttl  *int64
		want time.Time
	}{
		{nil, at.Add(5 * time.Minute)},
		{ms(0), at},
		{ms(-1), at},
		{ms(1000), at.Add(time.Second)},
		{ms(1 << 62), at.Add(math.MaxInt64 / time.Millisecond * time.Millisecond)},
	} {
		if got := (ToolList{FetchedAt: at, TTLms: c.ttl}).FreshUntil(); !got.Equal(c.want) {
			t.Errorf("ttl %v: %v, want %v", c.ttl, got, c.want)
		}
	}
}

func TestVerdicts(t *testing.T) {
	s := newStore(t)
	key := "https://example.com/mcp?token=" + canary
	if _, ok := s.Verdict(key); ok {
		t.Error("nothing is remembered yet")
	}
	want := Verdict{Revision: "2026-07-28", Transport: "http", Capabilities: []byte(`{"tools":{}}`), At: day(0)}
	if err := s.SaveVerdict(t.Context(), key, want); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Verdict(key); !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, ok)
	}
	// More than servers declare is not kept, and the rest still is.
	much := want
	much.Capabilities = []byte(`"` + strings.Repeat("x", maxNegotiatedSize) + `"`)
	if err := s.SaveVerdict(t.Context(), key, much); err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Verdict(key); !ok || got.Capabilities != nil || got.Revision != want.Revision {
		t.Errorf("got %v, %v", got, ok)
	}
	for _, broken := range []string{"", "{", `{"revision":""}`, "\x00\x00"} {
		if err := os.WriteFile(s.dir.file(negotiatedName, hashed(key)), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, ok := s.Verdict(key); ok {
			t.Errorf("%q: got %v", broken, got)
		}
	}
}

func TestCachesAreBounded(t *testing.T) {
	s := newStore(t)
	const extra = 10
	for i := range maxNegotiated + extra {
		key := fmt.Sprint(i)
		if err := s.SaveVerdict(t.Context(), key, Verdict{Revision: "r", At: day(i)}); err != nil {
			t.Fatal(err)
		}
		// File times are coarse; make them tell the order.
		_ = os.Chtimes(s.dir.file(negotiatedName, hashed(key)), day(i-1000), day(i-1000))
	}
	left, err := os.ReadDir(s.dir.file(negotiatedName))
	if err != nil || len(left) != maxNegotiated {
		t.Errorf("%d are left, %v", len(left), err)
	}
	_, oldest := s.Verdict(fmt.Sprint(extra - 1))
	_, next := s.Verdict(fmt.Sprint(extra))
	if oldest || !next {
		t.Errorf("the oldest must go: %v %v", oldest, next)
	}
}

// The newest list is kept whatever its size, and no more than fit with it.
func TestCachesAreBoundedInBytes(t *testing.T) {
	s := newStore(t)
	raw := make([]byte, maxCacheSize/3)
	names := func() (names string) {
		for i := range 5 {
			if list, _ := s.Tools(fmt.Sprint(i)); list != nil {
				names += fmt.Sprint(i)
			}
		}
		return names
	}
	for i, size := range []int{len(raw), len(raw), len(raw), len(raw) / 2, 4 * len(raw)} {
		if size > len(raw) {
			raw = make([]byte, size)
		}
		save(t, s, fmt.Sprint(i), ToolList{FetchedAt: day(i), Tools: []Tool{{Name: "x", Raw: raw[:size]}}})
		_ = os.Chtimes(s.dir.file(toolsName, hashed(fmt.Sprint(i))), day(i-1000), day(i-1000))
		if got, want := names(), []string{"0", "01", "12", "123", "4"}[i]; got != want {
			t.Errorf("after list %d: %s are left, want %s", i, got, want)
		}
	}
}

// Tools that share a name are not remembered: a call would have to choose one.
func TestToolsThatShareAName(t *testing.T) {
	s := newStore(t)
	one := Tool{Name: "one", Raw: []byte(`{"name":"one"}`)}
	save(t, s, "k", ToolList{FetchedAt: day(1), Tools: []Tool{{Name: "twice", Raw: []byte("a")}, one, {Name: "twice", Raw: []byte("b")}}})
	if got, err := s.Tools("k"); err != nil || !reflect.DeepEqual(got.Tools, []Tool{one}) {
		t.Errorf("got %v, %v", got, err)
	}
	if tool, list, err := s.Tool("k", "twice"); tool != nil || list == nil || err != nil {
		t.Errorf("got %v, %v, %v", tool, list, err)
	}
}

// FuzzTools: no file makes the reader panic or read beyond it.
func FuzzTools(f *testing.F) {
	list := oddTools()
	list.Tools = list.Tools[:5] // large seeds make the fuzzer crawl
	var whole []byte
	for _, tool := range list.Tools {
		whole = AppendTool(whole, tool.Name, tool.Raw)
	}
	head := `{"format":"mcpc-tools/2"}` + "\n"
	f.Add(slices.Concat([]byte(head), whole, []byte("end 00000000\n")), "t0")
	f.Add([]byte(head), "")
	f.Add([]byte(head+"9223372036854775807 \"a\"\n"), "a")
	f.Fuzz(func(t *testing.T, file []byte, name string) {
		_, _ = decodeTools(bytes.NewReader(file), int64(len(file)), func(listed string) bool { return listed == name })
	})
}
