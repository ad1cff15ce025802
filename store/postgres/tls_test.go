package postgres_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/pgtest"
	"github.com/repertoire-skills/repertoire/internal/testsize"
	"github.com/repertoire-skills/repertoire/store/postgres"
)

// certificate returns a certificate for this machine that signs itself, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must.Do(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must.Do(t, err)
	der8, err := x509.MarshalPKCS8PrivateKey(private)
	must.Do(t, err)
	encode := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", der8)
}

// TestTLS: a server is checked as the URL says.
func TestTLS(t *testing.T) {
	testsize.Long(t)
	cert, key := certificate(t)
	other, _ := certificate(t)
	server := pgtest.Start(t, &pgtest.Options{
		Settings: map[string]string{"ssl": "on"},
		Files:    map[string]string{"server.crt": cert, "server.key": key},
	})
	address := strings.TrimSuffix(server.URL(t), "?sslmode=disable")
	for _, tt := range []struct{ name, cert, host, want string }{
		{"the server's certificate", cert, "127.0.0.1", ""},
		{"another certificate", other, "127.0.0.1", "certificate"},
		{"another name", cert, "localhost", "certificate"},
	} {
		file := filepath.Join(t.TempDir(), "root.crt")
		must.Do(t, os.WriteFile(file, []byte(tt.cert), 0o600))
		url := strings.Replace(address, "127.0.0.1", tt.host, 1) + "?sslmode=verify-full&sslrootcert=" + file
		db := open(t, url, &postgres.Options{Catalog: tt.name})
		err := db.Migrate(t.Context())
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
