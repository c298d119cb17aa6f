package skills

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/connect"
	"mcpc/internal/skill"
	"mcpc/internal/sliceutil"
)

// skillsOf returns the skills in the cached list of the server, without entries that cannot be
// loaded.
func skillsOf(f *cmdutil.Factory, cmd *cobra.Command) []skill.Entry {
	var all []skill.Entry
	for _, entry := range f.CompletedEntries(cmd, connect.SkillKind) {
		if e, err := skill.Parse(entry.Raw); err == nil {
			all = append(all, e)
		}
	}
	return all
}

// The values of the parameter of completeSkills.
const (
	anyNumber = -1
	oneName   = 1
)

// completeSkills returns a completer for up to maxNames names of skills, or for any number if
// maxNames is negative. It offers the URI of a skill if several skills have its name or the typed word has a
// colon.
func completeSkills(f *cmdutil.Factory, maxNames int) cmdutil.Completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if maxNames >= 0 && len(args) >= maxNames {
			return nil, cmdutil.NoFiles
		}
		all := skillsOf(f, cmd)
		counts := map[string]int{}
		for _, e := range all {
			counts[e.Name]++
		}
		words := sliceutil.Map(all, func(e skill.Entry) string {
			if counts[e.Name] > 1 || strings.Contains(typed, ":") {
				return e.URI
			}
			return e.Name
		})
		words = slices.DeleteFunc(
			cmdutil.CompletedWords(words, typed),
			func(word string) bool { return slices.Contains(args, word) },
		)
		return words[:min(len(words), cmdutil.MaxOffered)], cmdutil.NoFiles
	}
}

// completeSkillFile returns a completer for the name of a skill, followed by a file that the entry
// of the skill lists.
func completeSkillFile(f *cmdutil.Factory) cmdutil.Completer {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return completeSkills(f, oneName)(cmd, args, typed)
		}
		var words []string
		for _, e := range skillsOf(f, cmd) {
			if len(args) == 1 && (e.Name == args[0] || e.URI == args[0]) {
				words = append(words, sliceutil.Map(
					e.Files,
					func(file skill.File) string { return strings.TrimPrefix(file.URI, e.Root+"/") },
				)...)
			}
		}
		return cmdutil.CompletedWords(words, typed), cmdutil.NoFiles
	}
}
