package connect

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcpc/internal/connect/host"
	"mcpc/internal/spool"
	"mcpc/internal/state"
)

// Items come back as they were added, in memory and in a file.
func TestItemsAreReturnedAsAdded(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 5000} {
		items := NewItems(spool.Dir(t.TempDir()))
		var want [][]byte
		for i := range n {
			item := fmt.Appendf(nil, `{"name":"%d%s"}`, i, strings.Repeat("x", i%400))
			want = append(want, item)
			items.add(item)
		}
		all, err := items.Bytes()
		if err != nil || !bytes.Equal(all, bytes.Join(want, []byte(","))) {
			t.Errorf("%d items: %v", n, err)
		}
		_ = items.buffer.Close()
	}
}

// Many items need no more memory than some.
func TestItemsUseConstantMemory(t *testing.T) {
	item := bytes.Repeat([]byte("x"), 500)
	used := func(n int) uint64 {
		items := NewItems(spool.Dir(t.TempDir()))
		for range n {
			items.add(item)
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if got := items.buffer.Len(); got != int64(n*len(item)+n-1) {
			t.Errorf("%d bytes of %d items", got, n)
		}
		_ = items.buffer.Close()
		return m.HeapAlloc
	}
	if few, many := used(2_000), used(100_000); many > few+1<<20 {
		t.Errorf("%d bytes with 2,000 items, %d with 100,000", few, many)
	}
}

// A keeper remembers each tool under its name, except a tool without a name.
func TestKeeperNames(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, err := state.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	env := &host.Env{Shared: &host.Shared{}, Now: time.Now, State: dir}
	c := &Conn{Env: env, Store: store, Saved: &state.Session{Key: "k"}}
	keep := c.newListCache(ToolKind)
	var want []string
	for i := range 3000 {
		name := strconv.Itoa(i)
		raw := fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":{}}`, name, strings.Repeat("x", i%400))
		if i%100 == 8 {
			keep.add([]byte(`{"inputSchema":{}}`), "")
			continue
		}
		want = append(want, name+string(raw))
		if i%2 == 0 {
			name = "" // not known yet
		}
		keep.add(raw, name)
	}
	keep.save(t.Context(), nil)
	list, err := store.Tools(c.listKey(ToolKind))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range list.Tools {
		got = append(got, tool.Name+string(tool.Raw))
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d tools, want %d", len(got), len(want))
	}
}
