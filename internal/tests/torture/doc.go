// Package torture has a test that lets each call of mcpc to the operating system fail once. It needs
// the build tag torture, Linux 5.19 and amd64:
//
//	go test -tags torture -timeout 20m -count=1 -parallel 12 ./internal/tests/torture
package torture
