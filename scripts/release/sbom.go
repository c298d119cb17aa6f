package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// writeBills writes a CycloneDX bill of materials for each target: the build information in the program,
// with the licences.
func (r *release) writeBills() error {
	modules, err := r.linkedModules()
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		info, err := buildinfo.ReadFile(r.binary(t))
		if err != nil {
			return err
		}
		bill := cdx.NewBOM()
		bill.Metadata = &cdx.Metadata{Timestamp: r.time.Format("2006-01-02T15:04:05Z"), Component: &cdx.Component{
			BOMRef: "mcpc", Type: cdx.ComponentTypeApplication, Name: "mcpc", Version: r.version, Licenses: licenceChoice("Apache-2.0"),
			Properties: &[]cdx.Property{{Name: "platform", Value: t.String()}, {Name: "commit", Value: r.commit}},
		}}
		parts := []cdx.Component{
			{
				BOMRef:   "go",
				Type:     cdx.ComponentTypePlatform,
				Name:     "go",
				Version:  strings.TrimPrefix(info.GoVersion, "go"),
				Licenses: licenceChoice("BSD-3-Clause"),
			},
		}
		for _, dep := range info.Deps {
			kind, _, err := licenceOf(modules[dep.Path])
			if err != nil {
				return err
			}
			url := "pkg:golang/" + dep.Path + "@" + dep.Version
			parts = append(parts, cdx.Component{
				BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: dep.Path, Version: dep.Version,
				PackageURL: url, Licenses: licenceChoice(kind), Properties: &[]cdx.Property{{Name: "go.sum", Value: dep.Sum}},
			})
		}
		bill.Components = &parts
		var out bytes.Buffer
		if err := cdx.NewBOMEncoder(&out, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cdx.SpecVersion1_6); err != nil {
			return fmt.Errorf("the bill of materials for %s: %w", t, err)
		}
		if err := r.write(r.baseName(t)+".cdx.json", out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func licenceChoice(kind string) *cdx.Licenses {
	return &cdx.Licenses{{License: &cdx.License{ID: kind}}}
}
