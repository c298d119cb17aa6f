package liveview

import (
	"context"

	"mcpc/internal/cli/cmdutil"
	"mcpc/internal/usage"
)

// A Page says how a page is served.
type Page struct {
	Port   int
	NoOpen bool
	Filter string
}

// Web serves the page until ctx ends.
func Web(context.Context, *cmdutil.Factory, *View, Page) error {
	return usage.New("no page yet", "")
}

// Terminal shows the view at the terminal until the user leaves it.
func Terminal(context.Context, *cmdutil.Factory, *View, string) error {
	return usage.New("no terminal yet", "")
}
