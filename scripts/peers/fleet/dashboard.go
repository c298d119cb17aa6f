package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/prometheus/prometheus/promql/parser"
)

// panelTypes are the panel types in docs/fleet.
var panelTypes = map[string]variants.PanelcfgConfig{
	"heatmap":    heatmap.VariantConfig(),
	"stat":       stat.VariantConfig(),
	"table":      table.VariantConfig(),
	"timeseries": timeseries.VariantConfig(),
}

// A panel is the part of a panel that the general type of Grafana does not parse.
type panel struct {
	Title, Type string
	Options     json.RawMessage
	FieldConfig struct {
		Defaults struct{ Custom json.RawMessage }
	}
	Targets []struct{ Expr string }
}

// readDashboard parses a dashboard with Grafana's types, which reject unknown members, and its
// queries with the parser of Prometheus.
func readDashboard(raw []byte) error {
	cog.NewRuntime().RegisterDataqueryVariant(prometheus.VariantConfig())
	var whole dashboard.Dashboard
	if err := some(whole.UnmarshalJSONStrict(raw)); err != nil {
		return err
	}
	var parts struct{ Panels []panel }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts.Panels {
		if p.Type == "row" {
			continue
		}
		if err := p.read(); err != nil {
			return fmt.Errorf("panel %q: %w", p.Title, err)
		}
	}
	return nil
}

// some returns err, or nil for an empty list of errors. Grafana's types return an empty list for
// valid input.
func some(err error) error {
	if list, ok := err.(cog.BuildErrors); ok && len(list) == 0 {
		return nil
	}
	return err
}

var variables = strings.NewReplacer(
	"${side}",
	"server",
	"$identity",
	"job",
	"$service",
	".*",
	"$tool",
	".+",
	"$__rate_interval",
	"4m",
	"$__range",
	"6h",
)

func (p panel) read() error {
	of, ok := panelTypes[p.Type]
	if !ok {
		return fmt.Errorf("the type %s is not known", p.Type)
	}
	if _, err := of.StrictOptionsUnmarshaler(p.Options); some(err) != nil {
		return fmt.Errorf("options: %w", err)
	}
	if custom := p.FieldConfig.Defaults.Custom; custom != nil && of.StrictFieldConfigUnmarshaler != nil {
		if _, err := of.StrictFieldConfigUnmarshaler(custom); some(err) != nil {
			return fmt.Errorf("fieldConfig: %w", err)
		}
	}
	for _, target := range p.Targets {
		if _, err := parser.NewParser(parser.Options{}).ParseExpr(variables.Replace(target.Expr)); err != nil {
			return err
		}
	}
	return nil
}
