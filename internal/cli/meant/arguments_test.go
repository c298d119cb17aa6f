package meant

import "testing"

func TestIsName(t *testing.T) {
	for word, want := range map[string]bool{
		"name": true, "get-sum": true, "true": false, "12": false, "1a": false,
		"a.b": false, "a b": false, "null": false,
	} {
		if IsName(word) != want {
			t.Errorf("name %q: got %v", word, !want)
		}
	}
}
