package main

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"deviceagent/cloudlink/planner"
)

// settings are the flags.
type settings struct {
	listen       string
	tokenFile    string
	http         planner.TLSFiles
	broker       string
	brokerListen string
	brokerUser   string
	brokerPass   string
	brokerCA     string
	brokerCert   string
	brokerKey    string
	signingKey   string
	db           string
	catalog      string
	homeTZ       string
	allowJSON    bool
	experiences  bool
	logLevel     string
	readyFD      int
	model        modelSettings
	agents       agentSettings
}

const embedded = "embedded"

func (s *settings) flags(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&s.listen, "listen", "127.0.0.1:8088", "address of HTTP; port 0 takes a free one")
	f.StringVar(&s.tokenFile, "token-file", "", "file with the bearer token; beyond this machine it or --http-client-ca is needed")
	f.StringVar(&s.http.Cert, "http-cert", "", "PEM file of the certificate of HTTP, with its chain: HTTP speaks TLS then; read for each connection")
	f.StringVar(&s.http.Key, "http-key", "", "PEM file of its key")
	f.StringVar(&s.http.ClientCA, "http-client-ca", "", "PEM file of the authority of HTTP clients: a client has to show a certificate of it")
	f.StringSliceVar(&s.http.Clients, "http-clients", nil, "names in the certificates of the clients that may come in, by comma (default: all of that authority)")
	f.StringVar(&s.broker, "broker", embedded, "embedded (a lab on this machine), mqtt://host:port or mqtts://host:port")
	f.StringVar(&s.brokerListen, "broker-listen", "127.0.0.1:1883", "address of the embedded broker, on loopback; port 0 takes a free one")
	f.StringVar(&s.brokerUser, "broker-user", "", "user name at the broker")
	f.StringVar(&s.brokerPass, "broker-password-file", "", "file with the password at the broker")
	f.StringVar(&s.brokerCA, "broker-ca", "", "PEM file of certificates to trust for mqtts:// (default: the system's)")
	f.StringVar(&s.brokerCert, "broker-cert", "", "PEM file of the certificate to show to the broker; read for each connection")
	f.StringVar(&s.brokerKey, "broker-key", "", "PEM file of its key")
	f.StringVar(&s.signingKey, "signing-key", "", "PEM file of an Ed25519 key that signs what is sent to devices")
	f.StringVar(&s.db, "db", "planner.db", "database file; its folder must exist")
	f.StringVar(&s.catalog, "catalog", "", "folder of catalog files (default: the built-in catalog)")
	f.StringVar(&s.homeTZ, "home-tz", planner.DefaultHome, "zone of the homes: times of day that people say are meant there")
	s.model.flags(f)
	f.BoolVar(&s.experiences, "experiences", true, "judge whether words ask for a goal beside the steps; false: plans are byte by byte what they are without")
	s.agents.flags(f)
	f.BoolVar(&s.allowJSON, "allow-json", false, "read JSON from devices as well as CBOR (labs)")
	f.StringVar(&s.logLevel, "log-level", "info", "error, warn, info or debug")
	f.IntVar(&s.readyFD, "ready-fd", 1, "file descriptor that gets the line \"ready http=… mqtt=…\"")
}

var logLevels = map[string]zerolog.Level{"error": zerolog.ErrorLevel, "warn": zerolog.WarnLevel, "info": zerolog.InfoLevel, "debug": zerolog.DebugLevel}

// validate names all faults.
func (s *settings) validate() error {
	var errs []error
	if _, ok := logLevels[s.logLevel]; !ok {
		errs = append(errs, fmt.Errorf("--log-level %q: want error, warn, info or debug", s.logLevel))
	}
	if s.readyFD < 0 {
		errs = append(errs, fmt.Errorf("--ready-fd %d: want 0 or more", s.readyFD))
	}
	if _, err := time.LoadLocation(s.homeTZ); err != nil || s.homeTZ == "" || s.homeTZ == "Local" {
		errs = append(errs, fmt.Errorf("--home-tz %q: want a zone such as Asia/Seoul", s.homeTZ))
	}
	if s.db == "" {
		errs = append(errs, errors.New("--db is empty"))
	}
	if (s.brokerCert == "") != (s.brokerKey == "") {
		errs = append(errs, errors.New("--broker-cert and --broker-key belong together"))
	}
	if (s.http.Cert == "") != (s.http.Key == "") {
		errs = append(errs, errors.New("--http-cert and --http-key belong together"))
	}
	if s.http.ClientCA != "" && s.http.Cert == "" {
		errs = append(errs, errors.New("--http-client-ca needs --http-cert and --http-key"))
	}
	if len(s.http.Clients) > 0 && s.http.ClientCA == "" {
		errs = append(errs, errors.New("--http-clients needs --http-client-ca"))
	}
	errs = append(errs, s.model.validate(), s.agents.validate())
	if s.broker != embedded {
		if _, err := dialer(s.broker, identity{}, nil); err != nil {
			errs = append(errs, fmt.Errorf("--broker: %w", err))
		}
	}
	return errors.Join(errs...)
}

// signing reads the key that signs, if one is named.
func signing(file string) (ed25519.PrivateKey, error) {
	text, err := secret(file)
	if err != nil || text == "" {
		return nil, err
	}
	b, _ := pem.Decode([]byte(text))
	if b == nil {
		return nil, fmt.Errorf("cannot use signing key %s: it is not PEM", file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(b.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, fmt.Errorf("cannot use signing key %s: it is no Ed25519 key; openssl genpkey -algorithm ed25519 makes one", file)
	}
	return key, nil
}

// secret reads a secret from a file, if one is named. Others must not be able to read it.
func secret(file string) (string, error) {
	if file == "" {
		return "", nil
	}
	if err := private(file); err != nil {
		return "", err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read secret: %w", err)
	}
	text := strings.TrimSpace(string(data))
	if text == "" {
		return "", fmt.Errorf("cannot use secret %s: it is empty", file)
	}
	return text, nil
}

// private says whether a file of a secret is there, for its owner alone. "" is no file.
func private(file string) error {
	if file == "" {
		return nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return fmt.Errorf("cannot read secret: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("cannot use secret %s: others may read it (mode %04o); chmod 600", file, info.Mode().Perm())
	}
	return nil
}
