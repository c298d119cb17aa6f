package capture

import "testing"

func TestNamesRecording(t *testing.T) {
	for name, want := range map[string]bool{
		"a.jsonl": true, "a.har": true, "a.html": true, "a.mcpcz": true, "a.mcpcz.html": true, "dir/a.JSONL": true,
		"a.jsonl.zst": true, "a.har.zst": true, "a.HTML.Zst": true, "a.mcpcz.zst": true, ".jsonl": true,
		"a.json": false, "a.zst": false, "a.jsonl.gz": false, "a.jsonlx": false, "jsonl": false, "a.jsonl/b": false,
		"a.mcpc.yaml": false, "": false,
	} {
		if got := NamesRecording(name); got != want {
			t.Errorf("%q: got %t", name, got)
		}
	}
}
