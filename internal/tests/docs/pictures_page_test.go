package docs

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcpc/internal/tests/module"
	"mcpc/internal/tests/program"
)

// docs/dev/pictures.md, with README.md and docs/inspect.md, shows each picture that there is, in
// dark and in light, with a text alternative, and their total size stays small.
func TestPicturesPage(t *testing.T) {
	docs := module.Path(t, "docs")
	readme := strings.Join(strings.SplitN(program.Read(t, module.Path(t, "README.md")), "\n", 31)[:30], "\n")
	if !strings.Contains(readme, "<picture>") {
		t.Error("the first 30 lines of README.md show no picture")
	}
	page := strings.ReplaceAll(program.Read(t, filepath.Join(docs, "dev", "pictures.md")), "../pictures/", "pictures/") +
		program.Read(t, filepath.Join(docs, "inspect.md")) + strings.ReplaceAll(readme, "docs/pictures/", "pictures/")
	var shown []string
	for _, m := range regexp.MustCompile(`srcset="pictures/([^"]*)-dark\.png"><img src="pictures/([^"]*)-light\.png" alt="[^"]{20,}"></picture>`).FindAllStringSubmatch(page, -1) {
		if m[1] != m[2] {
			t.Errorf("%s in the dark is %s in the light", m[1], m[2])
		}
		shown = append(shown, m[1]+"-dark.png", m[2]+"-light.png")
	}
	if strings.Count(page, "<picture>")*2 != len(shown) || len(shown) < 20 {
		t.Errorf("%d pictures are shown as they should be, of %d", len(shown)/2, strings.Count(page, "<picture>"))
	}
	files, err := filepath.Glob(filepath.Join(docs, "pictures", "*"))
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := png.Decode(f); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if info, err := f.Stat(); err == nil {
			total += info.Size()
		}
		if !slices.Contains(shown, filepath.Base(name)) {
			t.Errorf("%s is not shown", name)
		}
		scene := regexp.MustCompile(`-(dark|light)\.png$`).ReplaceAllString(filepath.Base(name), ".scene")
		if _, err := os.Stat(module.Path(t, "scripts/pictures/"+scene)); err != nil {
			t.Errorf("nothing makes %s: %v", name, err)
		}
	}
	if len(files) != len(shown) || total > 1_500_000 {
		t.Errorf("%d files of %d that are shown, %d bytes", len(files), len(shown), total)
	}
}
