package connect

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mcpc/internal/connect/host"
	"mcpc/internal/spool"
)

// Items come back as they were added, in memory and in a file.
func TestItems(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 5000} {
		items := NewItems(spool.Dir(t.TempDir()))
		var want [][]byte
		var places []span
		for i := range n {
			item := fmt.Appendf(nil, `{"name":"%d%s"}`, i, strings.Repeat("x", i%400))
			want, places = append(want, item), append(places, items.add(item))
		}
		all, err := items.Bytes()
		if err != nil || !bytes.Equal(all, bytes.Join(want, []byte(","))) {
			t.Errorf("%d items: %v", n, err)
		}
		for i, at := range places {
			if got := all[at.from:at.to]; !bytes.Equal(got, want[i]) {
				t.Fatalf("item %d is %s", i, got)
			}
		}
		items.empty()
		if all, err := items.Bytes(); len(all) > 0 || err != nil {
			t.Errorf("emptied: %s %v", all, err)
		}
	}
}

// Many items need no more memory than some.
func TestItemsMemory(t *testing.T) {
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
		items.empty()
		return m.HeapAlloc
	}
	if few, many := used(2_000), used(100_000); many > few+1<<20 {
		t.Errorf("%d bytes with 2,000 items, %d with 100,000", few, many)
	}
}

// A keeper remembers each tool under its name, from memory and from a file, but none of those that
// share one, and none that has no name.
func TestKeeperNames(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		items := NewItems(spool.Dir(t.TempDir()))
		keep := &keeper{c: &Conn{Env: &host.Env{Shared: &host.Shared{}}}, k: ToolKind}
		var want []string
		for i := range 3000 {
			name := strconv.Itoa(i)
			if i%100 == 7 {
				name = "twice" + strconv.Itoa(i/1000)
			}
			raw := fmt.Appendf(nil, `{"name":%q,"description":%q,"inputSchema":{}}`, name, strings.Repeat("x", i%400))
			if i%100 == 8 {
				raw, name = []byte(`{"inputSchema":{}}`), ""
			} else if i%100 != 7 {
				want = append(want, name+string(raw))
			}
			if !taken {
				keep.add(raw)
				continue
			}
			if i%2 == 0 {
				name = "" // not known yet
			}
			keep.items = items
			keep.addAt(raw, name, items.add(raw))
		}
		all, err := items.Bytes()
		var got []string
		for tool := range keep.tools(all) {
			got = append(got, tool.Name+string(tool.Raw))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("taken %t: %d tools, want %d: %v", taken, len(got), len(want), err)
		}
	}
}
