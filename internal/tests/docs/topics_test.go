package docs

import (
	"strings"
	"testing"

	"mcpc/internal/cli/help"
)

// The lines of a topic that begin with a command work, as the examples of commands do:
// they are what an agent or a script copies first.
func TestTopicExamplesRun(t *testing.T) {
	for name, text := range map[string]string{"scripting": help.TextOfTopic("scripting"), "agents": help.TextOfTopic("agents")} {
		seen := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "mcpc -s demo ") && !strings.HasPrefix(line, "echo ") {
				continue
			}
			line, _, _ = strings.Cut(line, "  ") // the text after it describes it
			seen++
			t.Run(name+"/"+strings.ReplaceAll(line, "/", "|"), func(t *testing.T) {
				t.Parallel()
				runExample(t, line)
			})
		}
		if seen < 4 {
			t.Errorf("%s has only %d examples", name, seen)
		}
	}
}
