//go:build peers

package peers

import (
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcpc/internal/tests/program"
)

// The page of the demo server's weather is drawn by Chromium, and talks.
func TestPeerAppPicture(t *testing.T) {
	t.Parallel()
	env := []string{"MCPC_CHROME=chromium --no-sandbox", "HOME=" + t.TempDir()}
	for _, theme := range []string{"light", "dark"} {
		name := filepath.Join(t.TempDir(), "weather.png")
		exit, _, stderr := program.Run(t, env, "-s", "demo", "app", "show-weather", "-v", "--width", "390", "--theme", theme,
			"--max-time", "60", "-o", name)
		if exit != 0 || !strings.Contains(stderr, "page: received ui/notifications/size-changed") {
			t.Fatalf("%s: exit %d: %s", theme, exit, stderr)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		picture, err := png.Decode(f)
		if err != nil {
			t.Fatal(err)
		}
		size := picture.Bounds().Size()
		if size.X != 390 || size.Y < 50 || size.Y > 500 {
			t.Errorf("%s: the picture has %v pixels", theme, size)
		}
		r, _, _, _ := picture.At(2, 2).RGBA()
		if isLight := r > 0x8000; isLight != (theme == "light") {
			t.Errorf("%s: the corner has the red %x", theme, r)
		}
	}
}
