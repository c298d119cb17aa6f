// Package peers has the tests of mcpc against real servers, clients and programs of others, which
// scripts/peers.sh installs. They need the build tag peers:
//
//	go test -tags peers -timeout 20m -count=1 -parallel 4 ./internal/tests/peers
package peers
