// Package chromium drives Chromium for tests with the build tag peers.
package chromium
