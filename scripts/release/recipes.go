package main

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path"
	"strings"
	"text/template"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

//go:embed recipes
var recipes embed.FS

// A file describes an archive for a recipe.
type file struct{ URL, Sum, Stem string }

// describeArchive returns the description of a target's archive.
func (r *release) describeArchive(os, arch string) file {
	t := target{os, arch}
	name := r.archiveName(t)
	sum := cmp.Or(r.sums[name], "not built") // with --only
	return file{r.downloads + "/v" + r.version + "/" + name, sum, r.baseName(t)}
}

// writeRecipes writes the Homebrew formula, the Scoop manifest and the container file.
func (r *release) writeRecipes() error {
	for _, name := range []string{"mcpc.rb", "mcpc.scoop.json"} {
		raw, err := r.renderRecipe(name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".json") && !json.Valid(raw) {
			return fmt.Errorf("%s is not JSON", name)
		}
		if err := r.write(name, raw); err != nil {
			return err
		}
	}
	return r.writeContainer()
}

func (r *release) renderRecipe(name string) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"file": r.describeArchive}).ParseFS(recipes, "recipes/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]string{"Version": r.version, "Homepage": r.downloads, "Summary": summary})
	return out.Bytes(), err
}

// writeContainer writes a folder from which an image is built without a network. It has the program and
// the certificates for HTTPS.
func (r *release) writeContainer() error {
	raw, err := recipes.ReadFile("recipes/Containerfile")
	if err != nil {
		return err
	}
	if err := r.write("container/Containerfile", raw); err != nil {
		return err
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil { // a certificate file cannot contain the constraint
			continue
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return err
		}
	}
	if err := r.write("container/ca-certificates.crt", roots.Bytes()); err != nil {
		return err
	}
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		if err := r.copyProgram(t, path.Join("container", "linux", t.arch, "mcpc")); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) copyProgram(t target, name string) error {
	raw, err := os.ReadFile(r.binary(t))
	if err != nil {
		return err
	}
	if err := r.write(name, raw); err != nil {
		return err
	}
	return os.Chmod(path.Join(r.out, name), 0o755)
}
