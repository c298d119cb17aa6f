package console

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"mcpc/internal/suggest"
	"mcpc/internal/usage"
	"mcpc/internal/wire"
)

// ColorWords are the values of --color.
var ColorWords = []string{"auto", "always", "never"}

// AddDisplayFlags declares the flags about output to a terminal.
func (c *Console) AddDisplayFlags(f *pflag.FlagSet) {
	f.StringVar(&c.color, "color", "auto", "`when` to use color: auto, always or never")
	f.StringVar(&c.images, "images", "auto", "`how` a terminal shows images: "+strings.Join(Drawings, ", "))
	f.BoolVar(&c.noImages, "no-images", false, "show an image's type and size only")
	f.BoolVar(&c.rawText, "raw-text", false, "print Markdown without formatting")
	f.BoolVar(&c.NoPager, "no-pager", false, "do not use a pager (MCPC_PAGER, PAGER or less)")
}

// CheckDisplayFlags returns an error for unknown values of these flags.
func (c *Console) CheckDisplayFlags() error {
	if !slices.Contains(ColorWords, c.color) {
		return usage.New(
			fmt.Sprintf("--color must be auto, always or never, not %q", c.color),
			suggest.DidYouMean("--color %s", c.color, ColorWords, ""),
		)
	}
	if !slices.Contains(Drawings, c.images) {
		return usage.New(
			fmt.Sprintf("unknown value %q for --images", c.images),
			wire.Hint("it is one of "+strings.Join(Drawings, ", ")),
		)
	}
	return nil
}
