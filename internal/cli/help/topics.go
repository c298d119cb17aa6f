package help

import (
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/mock"
	"mcpc/internal/proxy"
	"mcpc/internal/render/failure"
	"mcpc/internal/render/term"
)

//go:embed topic_*.txt
var topicTexts embed.FS

// NewTopics returns the help topics, as for `mcpc help exit-codes`. A topic is a command that
// cannot be run. Its Long is the text of the topic; all and flags have none, because TopicText lists
// the commands and flags.
func NewTopics() []*cobra.Command {
	var topics []*cobra.Command
	for _, t := range [][2]string{
		{"all", "all commands and topics"},
		{"flags", "the flags that every command has, and how to name a server"},
		{"agents", "a short guide for programs that run mcpc"},
		{"answering", "answering a server's requests: forms, pages, sampling, roots"},
		{"arguments", "the arguments of a tool or a prompt"},
		{"exit-codes", "the exit codes"},
		{"faults", "fault rules: making messages fail, and what a client does then"},
		{"filters", "the filter language for recorded exchanges"},
		{"mock-scripts", "the script language of mcpc mock"},
		{"revisions", "protocol revisions: the differences, and how one is negotiated"},
		{"scripting", "scripting: streams, exit codes, JSON"},
		{"targets", "naming a server, and which servers need approval"},
	} {
		topics = append(topics, &cobra.Command{Use: t[0], Short: t[1], Long: TextOfTopic(t[0])})
	}
	return topics
}

// TextOfTopic returns the embedded text of a topic; "" for an unknown topic.
func TextOfTopic(name string) string {
	text, _ := topicTexts.ReadFile("topic_" + strings.ReplaceAll(name, "-", "_") + ".txt")
	return strings.TrimSuffix(string(text), "\n")
}

// TopicText returns the text that mcpc help TOPIC prints. For some topics it adds a table that it
// makes from the program's own data.
func TopicText(f *cmdutil.Factory, c *cobra.Command, st term.Style) string {
	switch c.Name() {
	case "all":
		return allText(f, c.Root())
	case "flags":
		return flagsText(c.Root())
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(c.Long, "\n") + "\n")
	switch c.Name() {
	case "exit-codes":
		b.WriteString("\n")
		failure.WriteExitCodes(&b, st)
	case "faults":
		b.WriteString("\n" + faultWords())
	case "mock-scripts":
		b.WriteString("\n" + mockWords())
	}
	return b.String()
}

// IsTopic reports whether c is a help topic and not a command.
func IsTopic(c *cobra.Command) bool {
	return !c.Hidden && c.HasParent() && !c.Runnable() && !c.HasSubCommands()
}

// mockWords returns the list of the words of mock scripts.
func mockWords() string {
	var b strings.Builder
	for _, w := range mock.Words {
		does := w[2]
		if w[1] != "" {
			does = w[1] + ": " + does
		}
		cmdutil.WriteHelpRow(&b, fmt.Sprintf("    %-28s ", w[0]), does)
	}
	return b.String()
}

// faultWords returns the list of the actions of fault rules, and the text of each preset.
func faultWords() string {
	var b strings.Builder
	b.WriteString("Actions:\n")
	for _, a := range proxy.Actions() {
		cmdutil.WriteHelpRow(&b, fmt.Sprintf("    %-30s ", a.Form), a.Does)
	}
	for _, name := range proxy.Presets() {
		text, _ := proxy.Preset(name)
		b.WriteString(
			"\n" + proxy.PresetPrefix + name + "\n    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n",
		)
	}
	return b.String()
}
