package secret

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// Every secret here is put together at run time, so that no scanner finds one
// in this file.
func join(parts ...string) string { return strings.Join(parts, "") }

// noise is text of n bytes with high entropy, the same in each run.
func noise(alphabet string, n int) string {
	out, state := make([]byte, n), uint32(2463534242)
	for i := range out {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		out[i] = alphabet[state%uint32(len(alphabet))]
	}
	return string(out)
}

const (
	hexadecimal = "0123456789abcdef"
	alnum       = letters + digits
)

func pem(kind, newline string) string {
	line := "-----"
	var out strings.Builder
	out.WriteString(join(line, "BEGIN ", kind, "PRIVATE ", "KEY", line, newline))
	for range 5 {
		out.WriteString(noise(alnum+"+/", 64) + newline)
	}
	out.WriteString(join(line, "END ", kind, "PRIVATE ", "KEY", line))
	return out.String()
}

func TestRedact(t *testing.T) {
	hex32, hex64 := noise(hexadecimal, 32), noise(hexadecimal, 64)
	aws := join("AK", "IA", noise("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))
	github := join("gh", "p_", noise(alnum, 36))
	slack := join("xo", "xb-", "1234567890123-", "1234567890123", noise(alnum, 24))
	stripe := join("sk", "_live_", noise(alnum, 24))
	google := join("AI", "za", noise(alnum, 35))
	jwt := join("ey", noise(alnum, 34), ".ey", noise(alnum, 60), ".", noise(alnum, 43))
	twilio := join("S", "K", hex32)
	vault := join("s", ".", noise(alnum, 24))
	for _, tc := range []struct{ name, path, in, want string }{
		{"aws", "a.py", "id = '" + aws + "'\n", "id = '[secret:aws-access-token]'\n"},
		{"github", "a.go", "x := \"" + github + "\" // mine", "x := \"[secret:github-pat]\" // mine"},
		{"two on a line", "a.sh", github + " " + aws, "[secret:github-pat] [secret:aws-access-token]"},
		{"slack", "a.rb", "TOKEN=" + slack + "\n", "TOKEN=[secret:slack-bot-token]\n"},
		{"stripe", "test_a.py", "pay(\"" + stripe + "\")", "pay(\"[secret:stripe-access-token]\")"},
		{"google", "a.js", "key: \"" + google + "\",", "key: \"[secret:gcp-api-key]\","},
		{"jwt", "a.ts", "const t = `" + jwt + "`", "const t = `[secret:jwt]`"},
		{"twilio", "a.ts", "'" + twilio + "'", "'[secret:twilio-api-key]'"},
		{"vault", "a.hcl", "login " + vault + " now", "login [secret:vault-service-token] now"},
		{"generic", "config.ini", "API_SECRET = " + hex64 + "\n", "API_SECRET = [secret:generic-api-key]\n"},
		{"generic in JSON", "a.json", `{"password": "` + noise(alnum, 20) + `"}`, `{"password": "[secret:generic-api-key]"}`},
		{"value on the next line", "a.py", "access_token =\\\n  \"" + hex64 + "\"\n", ""},
		{"named by its service", "a.env", "TWITTER_API_SECRET=" + noise("abcdefghijklmnopqrstuvwxyz0123456789", 50) + "\n", "TWITTER_API_SECRET=[secret:twitter-api-secret]\n"},
		{"a word in Terraform", "main.tf", join("pass", "word = \"", "correcthorse\"\n"), join("pass", "word = ", "[secret:hashicorp-tf-password]\n")},
		{"curl", "a.md", "curl -s \\\n  -u admin:" + hex32 + " https://example.org", "curl -s \\\n  -u [secret:curl-auth-user] https://example.org"},
		{"kubernetes", "a.yaml", "kind: Secret\nmetadata:\n  name: x\ndata:\n  pass: " + noise(alnum, 24) + "==\n", "kind: Secret\nmetadata:\n  name: x\ndata:\n  [secret:kubernetes-secret-yaml]\n"},
		{"far into a long line", "min.js", strings.Repeat("f(a);", 20_000) + "\"" + github + "\"", strings.Repeat("f(a);", 20_000) + "\"[secret:github-pat]\""},
		{"private key", "id_rsa", pem("RSA ", "\n") + "\nend\n", "[secret:private-key]" + strings.Repeat("\n", 6) + "\nend\n"},
		{"private key, Windows", "id_rsa", "k=\r\n" + pem("", "\r\n") + "\r\n", "k=\r\n[secret:private-key]" + strings.Repeat("\n", 6) + "\r\n"},
		{"private key in a string", "a.c", `char *k = "` + pem("EC ", `\n`) + `";`, `char *k = "[secret:private-key]";`},
		{"a key's first line, then a key", "a.py", join("B = '-----", "BEGIN PRIVATE ", "KEY-----'\nf()\n") + pem("", "\n"), join("B = '-----", "BEGIN PRIVATE ", "KEY-----'\nf()\n[secret:private-key]") + strings.Repeat("\n", 6)},
		{"not UTF-8", "a.txt", "\xff\xfe '" + aws + "' \xe9", "\xff\xfe '[secret:aws-access-token]' \xe9"},
	} {
		if tc.want == "" { // no rule for it, in gitleaks either
			tc.want = tc.in
		}
		got, found := Redact(tc.path, []byte(tc.in))
		if string(got) != tc.want {
			t.Errorf("%s: got %.300q, want %.300q", tc.name, got, tc.want)
		}
		if (found > 0) != (tc.in != tc.want) {
			t.Errorf("%s: %d found", tc.name, found)
		}
	}
}

func TestRedactLeavesCode(t *testing.T) {
	hex64 := noise(hexadecimal, 64)
	for name, text := range map[string]string{
		"words":         "token = previous_token_with_long_name\nlet api_key: &'static str = settings.api_key;\n",
		"allowed value": "password = \"${DATABASE_PASSWORD}\"\nsecret: {{ .Values.secretName }}\n",
		"low entropy":   "password = \"aaaaaaaaaaaa1111111\"\n",
		"checksum":      "sha256 = \"" + hex64 + "\"\n",
		"commit":        "rev: " + hex64[:40] + "\n",
		"identifier":    "\"first_key\": \"9E858021-953F-4DD3-8842-F2C782780422\",\n",
		"allowed here":  join("x = 'gh", "p_", noise(alnum, 36), "' // gitleaks:allow\n"),
		"key's borders": join("BEGIN = '-----", "BEGIN PRIVATE ", "KEY-----'\nEND = '-----", "END PRIVATE ", "KEY-----'\n\ndef f():\n    return BEGIN\n\nX = '-----", "END PRIVATE ", "KEY-----'\n"),
		"empty":         "",
		"a marker":      "api_secret = [secret:generic-api-key]\n",
	} {
		in := []byte(text)
		if got, found := Redact("a.py", in); found != 0 || string(got) != text || len(in) > 0 && &got[0] != &in[0] {
			t.Errorf("%s: %d found, got %q", name, found, got)
		}
	}
	for _, path := range []string{"go.sum", "web/package-lock.json", "vendor/github.com/x/y.go", "poetry.lock"} {
		text := "token = \"" + hex64 + "\"\n"
		if _, found := Redact(path, []byte(text)); found != 0 {
			t.Errorf("%s was searched", path)
		}
	}
}

// Every rule of the library compiles, has keywords to be found by, and an
// identifier that makes a marker.
func TestRules(t *testing.T) {
	set := loadRules()
	if len(set.rules) < 200 {
		t.Errorf("only %d rules", len(set.rules))
	}
	marker := regexp.MustCompile(`^[0-9a-z-]{1,50}$`)
	shapes := map[shape]int{}
	for _, r := range set.rules {
		r.load()
		shapes[r.shape]++
		if len(r.Keywords) == 0 || !marker.MatchString(r.ID) {
			t.Errorf("rule %q with keywords %q", r.ID, r.Keywords)
		}
		for _, a := range r.Allowlists {
			a.load()
		}
	}
	for s := assignment; s <= privateKey; s++ {
		if shapes[s] == 0 {
			t.Errorf("no rule has shape %d: does gitleaks write its expressions differently now?", s)
		}
	}
	for _, k := range set.keywords {
		if len(k.text) < 2 {
			t.Errorf("keyword %q is too short to be looked up", k.text)
		}
	}
}

func TestRedactConcurrently(t *testing.T) {
	text := []byte("id = '" + join("AK", "IA", noise("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)) + "'\n")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, found := Redact("a.py", text); found != 1 {
				t.Errorf("%d found", found)
			}
		})
	}
	group.Wait()
}

func FuzzRedact(f *testing.F) {
	for _, seed := range []string{
		"", "api_key = ", pem("RSA ", "\n"), "token=" + noise(alnum, 40) + ";password=" + noise(alnum, 40),
		join("gh", "p_", noise(alnum, 40), join("AK", "IA"), noise("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),
		"curl -u a:" + noise(alnum, 12) + " -H \"Authorization: Bearer " + noise(alnum, 30) + "\"\n",
		"[secret:" + noise(alnum, 40), "secret=[secret:x] token: 'ey" + noise(alnum, 20) + ".ey" + noise(alnum, 20) + ".'",
	} {
		f.Add("a.yaml", []byte(seed))
	}
	f.Fuzz(func(t *testing.T, path string, text []byte) {
		before := bytes.Clone(text)
		got, found := Redact(path, text)
		if !bytes.Equal(before, text) {
			t.Fatal("the input was written to")
		}
		if bytes.Count(got, []byte("\n")) != bytes.Count(text, []byte("\n")) {
			t.Fatalf("%q has other lines than %q", got, text)
		}
		if found == 0 && !bytes.Equal(got, text) {
			t.Fatalf("nothing found, but %q is not %q", got, text)
		}
		if again, more := Redact(path, got); more != 0 || !bytes.Equal(again, got) {
			t.Fatalf("the second time %d more in %q", more, got)
		}
	})
}

// Source-like text, in which most keywords are words of the language.
func BenchmarkRedact(b *testing.B) {
	code := "func (s *Session) refreshToken(ctx context.Context, key string) (accessToken string, err error) {\n" +
		"\tif s.authenticated && s.api.Version >= 2 { // the key is checked by the task\n" +
		"\t\treturn s.secrets.Lookup(ctx, \"password:\" + key, Options{Access: true, Depth: 128})\n\t}\n}\n"
	text := []byte(strings.Repeat(code, 4000))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, found := Redact("a.go", text); found != 0 {
			b.Fatal(found)
		}
	}
}
