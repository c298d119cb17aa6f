package cmdutil

import (
	"slices"

	"github.com/spf13/cobra"

	"mcpc/internal/connect"
	"mcpc/internal/connect/toolcall"
	"mcpc/internal/jsonraw"
	"mcpc/internal/sliceutil"
)

// argumentNames are those that a remembered tool or prompt takes, if they are words to
// every shell, the required ones first.
func (f *Factory) argumentNames(cmd *cobra.Command, k connect.Kind, name string) (names []string) {
	entry := f.entryOf(cmd, k, name)
	if entry == nil {
		return nil
	}
	var required, others []string
	listed, _ := jsonraw.Array(jsonraw.First(jsonraw.First(entry.Raw, "inputSchema"), "required"))
	properties, _ := jsonraw.Object(jsonraw.First(jsonraw.First(entry.Raw, "inputSchema"), "properties"))
	for _, m := range properties {
		others = append(others, m.Name)
	}
	arguments, _ := jsonraw.Array(jsonraw.First(entry.Raw, "arguments"))
	for _, raw := range arguments {
		if name, _ := jsonraw.Text(jsonraw.First(raw, "name")); string(jsonraw.First(raw, "required")) == "true" {
			required = append(required, name)
		} else {
			others = append(others, name)
		}
	}
	for _, name := range slices.Concat(required, sliceutil.Map(listed, toolcall.TextOf), others) {
		if Inert(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
