package cmdutil

import (
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/connect"
	"mcpc/internal/jsonraw"
	"mcpc/internal/schema"
)

// argumentNames are those that a remembered tool or prompt takes, if they are words to
// every shell, the required ones first.
func (f *Factory) argumentNames(cmd *cobra.Command, k connect.Kind, name string) (names []string) {
	entry := f.entryOf(cmd, k, name)
	if entry == nil {
		return nil
	}
	var required, others []string
	for _, p := range schema.New(jsonraw.First(entry.Raw, "inputSchema")).Schema().Properties() {
		if p.Required {
			required = append(required, p.Name)
		} else {
			others = append(others, p.Name)
		}
	}
	arguments, _ := jsonraw.Array(jsonraw.First(entry.Raw, "arguments"))
	for _, raw := range arguments {
		if name, _ := jsonraw.Text(jsonraw.First(raw, "name")); string(jsonraw.First(raw, "required")) == "true" {
			required = append(required, name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range slices.Concat(required, others) {
		if Inert(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
