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

// writeRecipes writes the container files and a description of the release for each package manager and
// registry: Homebrew, Scoop, winget, the AUR, the MCP registry and development containers.
func (r *release) writeRecipes() error {
	winget := "winget/" + r.publisher + ".mcpc"
	for _, recipe := range []struct{ template, file string }{
		{"mcpc.rb", "mcpc.rb"},
		{"mcpc.scoop.json", "mcpc.scoop.json"},
		{"winget.yaml", winget + ".yaml"},
		{"winget.installer.yaml", winget + ".installer.yaml"},
		{"winget.locale.en-US.yaml", winget + ".locale.en-US.yaml"},
		{"PKGBUILD", "aur/PKGBUILD"},
		{"SRCINFO", "aur/.SRCINFO"},
		{"server.json", "server.json"},
		{"devcontainer-feature.json", "devcontainer/devcontainer-feature.json"},
		{"devcontainer-install.sh", "devcontainer/install.sh"},
	} {
		raw, err := r.renderRecipe(recipe.template)
		if err != nil {
			return err
		}
		if strings.HasSuffix(recipe.file, ".json") && !json.Valid(raw) {
			return fmt.Errorf("%s is not JSON", recipe.file)
		}
		if err := r.write(recipe.file, raw); err != nil {
			return err
		}
	}
	return r.writeContainer()
}

// serverName returns the name of mcpc in the MCP registry.
func (r *release) serverName() string { return "io.github." + r.publisher + "/mcpc" }

// renderRecipe returns a recipe with the version, the URLs and the hashes of this release.
func (r *release) renderRecipe(name string) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{"file": r.describeArchive}).ParseFS(recipes, "recipes/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, map[string]any{
		"Version":    r.version,
		"Homepage":   r.downloads,
		"Downloads":  r.downloads + "/v" + r.version,
		"Summary":    summary,
		"Publisher":  r.publisher,
		"ServerName": r.serverName(),
		// A version of Arch Linux has no hyphen.
		"ArchVersion": strings.ReplaceAll(r.version, "-", "_"),
		// Go's architectures, and their names in winget.
		"WindowsArchs": map[string]string{"amd64": "x64", "arm64": "arm64"},
	})
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
