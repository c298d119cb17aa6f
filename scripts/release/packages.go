package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	summary     = "a client for the Model Context Protocol, and an inspector of its traffic"
	maintainers = "the mcpc authors"
	// secondName is a name of the program beside mcpc, for users of the npm package of that name.
	secondName = "mcpcli"
)

// completionsOf are the paths of shell completions in each distribution.
var completionsOf = map[string]map[string]string{
	"deb": {
		"mcpc.bash": "/usr/share/bash-completion/completions/mcpc",
		"_mcpc":     "/usr/share/zsh/vendor-completions/_mcpc",
		"mcpc.fish": "/usr/share/fish/vendor_completions.d/mcpc.fish",
	},
	"rpm": {
		"mcpc.bash": "/usr/share/bash-completion/completions/mcpc",
		"_mcpc":     "/usr/share/zsh/site-functions/_mcpc",
		"mcpc.fish": "/usr/share/fish/vendor_completions.d/mcpc.fish",
	},
}

// writePackages writes a deb and an rpm for each Linux target. They run no scripts at installation.
func (r *release) writePackages() error {
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		for _, format := range []string{"deb", "rpm"} {
			if err := r.writePackage(t, format); err != nil {
				return fmt.Errorf("the %s for %s: %w", format, t, err)
			}
		}
	}
	return nil
}

func (r *release) writePackage(t target, format string) error {
	all, err := r.packageFiles(t, format)
	if err != nil {
		return err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "mcpc", Arch: t.arch, Platform: "linux", Version: r.version, VersionSchema: "semver", Release: "1", Section: "net", Priority: "optional",
		Maintainer: maintainers, Description: summary, Homepage: r.downloads, License: "Apache-2.0", MTime: r.time,
		Overridables: nfpm.Overridables{
			Contents: all,
			RPM:      nfpm.RPM{Summary: summary, Compression: "gzip:9", BuildHost: "localhost"},
		},
	})
	if err := nfpm.PrepareForPackager(info, format); err != nil {
		return err
	}
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return r.write(packager.ConventionalFileName(info), out.Bytes())
}

// packageFiles returns the files of a package.
func (r *release) packageFiles(t target, format string) (all files.Contents, err error) {
	add := func(from, to string, mode os.FileMode) {
		all = append(
			all,
			&files.Content{
				Source:      from,
				Destination: to,
				FileInfo:    &files.ContentFileInfo{Mode: mode, MTime: r.time, Owner: "root", Group: "root"},
			},
		)
	}
	add(r.binary(t), "/usr/bin/mcpc", 0o755)
	all = append(all, &files.Content{
		Source:      "mcpc",
		Destination: "/usr/bin/" + secondName,
		Type:        files.TypeSymlink,
		FileInfo:    &files.ContentFileInfo{MTime: r.time, Owner: "root", Group: "root"},
	})
	for name, to := range completionsOf[format] {
		add(filepath.Join(r.extra, "completions", name), to, 0o644)
	}
	pages, err := filepath.Glob(filepath.Join(r.extra, "man", "*", "*"))
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		add(page, "/usr/share/man/man"+filepath.Ext(page)[1:]+"/"+filepath.Base(page), 0o644)
	}
	notices := filepath.Join(r.out, "build", "THIRD-PARTY.txt")
	if err := os.WriteFile(notices, r.notices, 0o644); err != nil {
		return nil, err
	}
	add(notices, "/usr/share/doc/mcpc/THIRD-PARTY.txt", 0o644)
	add(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/mcpc/copyright", 0o644)
	add(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/mcpc/CHANGELOG.md", 0o644)
	return all, nil
}
