package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// settings reads a URL or keywords, and all that libpq reads beside them.
func settings(text string) (*pgxpool.Config, error) {
	if scheme := schemeOf(text); scheme != "" && scheme != "postgres" && scheme != "postgresql" {
		return nil, fmt.Errorf("store URL: a shared catalog is in PostgreSQL, and %s:// is not; %s", scheme, form)
	}
	conf, err := pgxpool.ParseConfig(text)
	if err != nil {
		return nil, errors.New("store URL: " + explain(text, err))
	}
	if !strings.Contains(text, "pool_max_conns") {
		conf.MaxConns = readers
	}
	conf.MaxConnIdleTime = idleTime
	dialing(&conf.ConnConfig.Config, deadReader)
	if !strings.Contains(text, "default_query_exec_mode") {
		// Statements without names work behind poolers that give each transaction another
		// connection.
		conf.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	if _, ok := conf.ConnConfig.RuntimeParams["application_name"]; !ok {
		conf.ConnConfig.RuntimeParams["application_name"] = "repertoire"
	}
	return conf, nil
}

// schemeOf returns the scheme of a URL; "" means that a text is none, such as keywords.
func schemeOf(text string) string {
	scheme, _, ok := strings.Cut(text, "://")
	if !ok || strings.Trim(scheme, "abcdefghijklmnopqrstuvwxyz+") != "" {
		return ""
	}
	return scheme
}

// form is what a store URL looks like.
const form = "write it as postgres://user@host:port/database, with the password in ~/.pgpass or PGPASSWORD"

// explain returns what is wrong with a store URL, without its password. What the parser
// says is left out if any part of it may be a password: in a malformed URL nobody knows
// where the password ends.
func explain(text string, err error) string {
	var parse *pgconn.ParseConfigError
	if !errors.As(err, &parse) {
		return form
	}
	_, detail, _ := strings.Cut(err.Error(), "`: ") // before it is the URL
	for _, secret := range secrets(text) {
		for i := range len(secret) - 3 {
			if strings.Contains(detail, secret[i:i+4]) {
				return form
			}
		}
		if len(secret) < 4 && secret != "" {
			return form
		}
	}
	if detail == "" {
		return form
	}
	return detail + "; " + form
}

// secrets returns the parts of a store URL that may be or hold a password.
func secrets(text string) []string {
	var list []string
	if _, rest, ok := strings.Cut(text, "://"); ok {
		if at := strings.LastIndex(rest, "@"); at >= 0 {
			_, password, _ := strings.Cut(rest[:at], ":")
			list = append(list, password)
		}
		_, query, _ := strings.Cut(rest, "?")
		if strings.ContainsAny(query, "%") || strings.Contains(query, "pass") {
			list = append(list, query)
		}
		return list
	}
	_, after, _ := strings.Cut(text, "pass")
	return append(list, after)
}

// nameOf returns the URL of a database without password and settings.
func nameOf(c *pgx.ConnConfig) string {
	hosts := []string{hostOf(c.Host, c.Port)}
	for _, f := range c.Fallbacks { // another host, or the same one without TLS
		if h := hostOf(f.Host, f.Port); h != hosts[len(hosts)-1] {
			hosts = append(hosts, h)
		}
	}
	u := url.URL{Scheme: "postgres", User: url.User(c.User), Path: "/" + c.Database}
	u.Host = strings.Join(hosts, ",")
	return u.String()
}

func hostOf(host string, port uint16) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
