package recent

import "testing"

func TestMapKeepsTheNewest(t *testing.T) {
	for _, least := range []int{0, 1, 100} {
		m := Map[int, int]{MinEntries: least}
		if least == 0 {
			least = DefaultMinEntries
		}
		for i := range 5*least + 1 {
			m.Put(i, -i)
			m.Put(i, i)
		}
		count := 0
		for key, value := range m.All() {
			if key != value {
				t.Fatalf("least %d: %d has the value %d", least, key, value)
			}
			count++
		}
		if count < least || count > 2*least {
			t.Errorf("least %d: %d entries are kept", least, count)
		}
		for i := 4*least + 1; i < 5*least+1; i++ {
			if value, ok := m.Lookup(i); !ok || value != i || m.Get(i) != i {
				t.Fatalf("least %d: %d was forgotten", least, i)
			}
		}
		if _, ok := m.Lookup(0); ok {
			t.Errorf("least %d: the oldest entry is kept", least)
		}
	}
}

// An entry that is put again is one entry, and the newest.
func TestMapHasAnEntryOnce(t *testing.T) {
	m := Map[string, int]{MinEntries: 2}
	for i, key := range []string{"a", "b", "c", "a", "d"} {
		m.Put(key, i)
	}
	seen := map[string]int{}
	for key := range m.All() {
		seen[key]++
	}
	if seen["a"] != 1 || m.Get("a") != 3 {
		t.Errorf("got %v, a is %d", seen, m.Get("a"))
	}
	m.Delete("a")
	if _, ok := m.Lookup("a"); ok {
		t.Error("a was deleted and is still there")
	}
	for range m.All() {
		break // a loop may end early
	}
}
