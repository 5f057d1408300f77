/**
 * A test certificate, its key public with this source: never trust it for anything but a benchmark on this machine.
 * Self-signed ECDSA P-256 for localhost, 127.0.0.1 and the two addresses of `addresses.ts`; valid for a hundred years, so
 * that no run depends on a tool that makes certificates. Made once with
 * `openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 -subj /CN=localhost -addext …`.
 */
export const testCertificate = {
  /** What a client trusts: `ca` of the client, or a file named in `NODE_EXTRA_CA_CERTS`. */
  cert: `-----BEGIN CERTIFICATE-----
MIIB+TCCAZ+gAwIBAgIUEACDOwZRP1N4IJ9XVkx+/zRQuBAwCgYIKoZIzj0EAwIw
PTESMBAGA1UEAwwJbG9jYWxob3N0MScwJQYDVQQKDB5sb25nLXJlc3BvbnNlIHRl
c3QgY2VydGlmaWNhdGUwIBcNMjYxMTI5MTkwNTM0WhgPMjEyNjExMDUxOTA1MzRa
MD0xEjAQBgNVBAMMCWxvY2FsaG9zdDEnMCUGA1UECgwebG9uZy1yZXNwb25zZSB0
ZXN0IGNlcnRpZmljYXRlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEj8CrPdWn
Eh5R3e87rMyDXBEmNWL9xDstWgNY/6o8evcoNtrBLNCkvJDxmigzY2gPYH0wj0D6
RFgE06JWAwDau6N7MHkwHQYDVR0OBBYEFFbAjJe+yXsacpzeeNGCS9kjH6tEMB8G
A1UdIwQYMBaAFFbAjJe+yXsacpzeeNGCS9kjH6tEMCYGA1UdEQQfMB2CCWxvY2Fs
aG9zdIcEfwAAAYcExhIAAYcExhIAAjAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49
BAMCA0gAMEUCIQCF/qKETIPuHwENDK1XyGvg+7JgvO2IYuu0POzEP/CtPgIgQKbh
lHm6A6FuDPFiveYn4dz8NBE00zKp1jxKXPAMhc0=
-----END CERTIFICATE-----
`,
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxdk35e1JcZF9LvUP
ACEw0sZf5tyg2hIJZrgH39v4JO+hRANCAASPwKs91acSHlHd7zuszINcESY1Yv3E
Oy1aA1j/qjx69yg22sEs0KS8kPGaKDNjaA9gfTCPQPpEWATTolYDANq7
-----END PRIVATE KEY-----
`,
} as const;
