package view_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/live/view"
)

// talkText draws blocks as a face does.
func talkText(blocks []view.Block) string {
	var b strings.Builder
	for _, block := range blocks {
		r := block.Row
		fmt.Fprintf(&b, "%s %s %s %s %s%s %.3f %v\n", r.Key, r.Talk, strings.TrimSpace(r.Method+" "+r.Name), r.State, r.Channel, map[bool]string{true: "!"}[r.Failed], r.Seconds, r.Phases)
		for _, l := range block.Lines {
			arrow := map[string]string{"sent": "→", "received": "←", "": "·"}[l.Dir]
			times := ""
			if l.Times > 1 {
				times = fmt.Sprintf(" ×%d", l.Times)
			}
			fmt.Fprintf(&b, "  %s %s%s %s%s\n", arrow, l.Kind, strings.Repeat("!", map[string]int{"warning": 1, "error": 2}[l.Level]), l.Text, times)
		}
	}
	return b.String()
}

func TestConversationsOfSessions(t *testing.T) {
	paths, _ := filepath.Glob("../../capture/rows/testdata/sessions/*.jsonl")
	if len(paths) < 4 {
		t.Fatal("no sessions")
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(name, func(t *testing.T) {
			blocks, page, err := views(t, path, view.Options{}).Talk(t.Context(), view.Query{})
			if err != nil || page.Total != len(blocks) {
				t.Fatal(page.Total, err)
			}
			golden(t, "talk-"+name+".txt", talkText(blocks))
		})
	}
}
