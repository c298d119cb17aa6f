// Package webtest drives Chromium for tests with the build tag peers.
package webtest
