package main

import (
	"bytes"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the Kubernetes types in docs/fleet.
var kinds = map[string]func() any{
	"apps/v1 Deployment": func() any { return &appsv1.Deployment{} },
	"v1 Service":         func() any { return &corev1.Service{} },
	"v1 ConfigMap":       func() any { return &corev1.ConfigMap{} },
}

func readManifests(raw []byte) error {
	for i, document := range bytes.Split(raw, []byte("\n---\n")) {
		var head struct{ APIVersion, Kind string }
		if err := yaml.Unmarshal(document, &head); err != nil {
			return fmt.Errorf("document %d: %w", i+1, err)
		}
		kind := kinds[head.APIVersion+" "+head.Kind]
		if kind == nil {
			return fmt.Errorf("document %d: the type %s %s is not known", i+1, head.APIVersion, head.Kind)
		}
		if err := yaml.UnmarshalStrict(document, kind()); err != nil {
			return fmt.Errorf("document %d: %w", i+1, err)
		}
	}
	return nil
}
