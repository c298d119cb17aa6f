package send

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"mcpc/internal/usage"
)

// readCertificates returns the TLS settings with the authority and the client certificate of the
// variables. It returns an error if a file is invalid, because without the authority mcpc would
// trust a different server.
func (e *environment) readCertificates(signal string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	variable, authority, err := e.readFile(signal, "CERTIFICATE")
	if err != nil {
		return nil, err
	}
	if variable != "" {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return nil, usage.New(variable+": the file contains no PEM certificate", "")
		}
	}
	variable, certificate, err := e.readFile(signal, "CLIENT_CERTIFICATE")
	if err != nil {
		return nil, err
	}
	keyVariable, key, err := e.readFile(signal, "CLIENT_KEY")
	if err != nil {
		return nil, err
	}
	if variable == "" && keyVariable == "" {
		return config, nil
	}
	if variable == "" {
		return nil, usage.New(keyVariable+" is set without the client certificate",
			"set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE, too")
	}
	if keyVariable == "" {
		return nil, usage.New(variable+" is set without the key", "set OTEL_EXPORTER_OTLP_CLIENT_KEY, too")
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, usage.New(variable+" and "+keyVariable+" are not a certificate and its key in PEM", "")
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// readFile reads the file that a variable names. variable is "" if no variable is set.
func (e *environment) readFile(signal, option string) (variable string, content []byte, err error) {
	for _, variable := range signalVariables(signal, option) {
		if path := e.value(variable); path != "" {
			content, err := os.ReadFile(path)
			if err != nil {
				return "", nil, usage.NotRead(variable, err, "set "+variable+" to a file with PEM")
			}
			return variable, content, nil
		}
	}
	return "", nil, nil
}
