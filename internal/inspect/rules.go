package inspect

import (
	"slices"
	"strings"
	"sync"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/skill"
)

// textRules returns the rules for the text of skills. Patterns are matched with
// lower-case lines.
var textRules = sync.OnceValue(func() []rule {
	return []rule{
		{id: "fetch-and-run", words: []string{"curl", "wget", "invoke-webrequest", "invoke-restmethod", "iwr ", "irm ", "downloadstring", "urlopen", "requests.get"},
			pattern: fetchAndRun, judge: judgeFetch,
			message: "fetches a program and runs it unseen", hint: "read what the address serves before you trust the skill; better ship the script, or name a package and its version"},
		{id: "encoded-command", words: []string{"base64", "b64decode", "atob(", "-encodedcommand", "powershell", "pwsh", "xxd -r", "fromhex", "marshal.loads"},
			pattern: encoded, judge: unlessWarned, message: "runs a command that is encoded, so that nobody can read it", hint: "decode it and read it before you trust the skill"},
		{id: "package-from-address", words: []string{"npx ", "bunx ", "uvx ", "pipx run", "pnpm dlx", "pip install", "pip3 install"},
			pattern: fromAddress, judge: judgePackage,
			message: "installs or runs a package from an address instead of a registry", hint: "what the address serves can change at any time; name a version or a commit"},
		{id: "locked-archive", words: []string{"password", "passwd", "(pass: ", "unzip -p", "7z x "}, near: 1,
			pattern: lockedArchive, judge: unlessWarned, message: "wants an archive with a password unpacked, which no scanner can look into", hint: "do not unpack it; ask where it comes from"},
		{id: "paste-host", words: []string{"pastebin.com/", "glot.io/", "paste.ee/", "hastebin.com/", "rentry.co/", "rentry.org/", "ghostbin.", "controlc.com/",
			"transfer.sh/", "termbin.com", "0x0.st", "dpaste.", "paste.rs", "anonfiles.com", "gofile.io/", "webhook.site/", ".requestbin.", ".oast.", ".interact.sh", "bashupload.com"},
			pattern: pasteHost, judge: unlessWarned, message: "names a host where anybody can leave or collect data without a name", hint: "look at what is fetched from there, or sent to it"},
		{id: "address-url", words: []string{"http://", "https://"},
			pattern: numericHost, judge: judgeAddress, message: "names a server by a bare IP address", hint: "ask whose server it is"},
		{id: "credential-access", words: []string{".ssh/", "id_rsa", "id_ed25519", ".aws/credentials", ".env", ".netrc", ".npmrc", ".pypirc", ".git-credentials",
			".kube/config", ".config/gcloud", "/etc/shadow", "login.keychain", "find-generic-password", "dump-keychain", "cookies.sqlite", "login data", "wallet.dat", ".docker/config.json"},
			near: 3, pattern: credentials, judge: unlessWarned, message: "reads credentials and sends something away", hint: "make sure that no key, password or cookie leaves the machine"},
		{id: "hide-from-user", words: []string{"user", "human", "silently", "anyone"},
			needs:   []string{"do not", "don't", "don’t", "never", "must not", "hide", "conceal", "keep", "silently", "without"},
			pattern: hideFrom, judge: unlessExample, message: "asks to hide something from the user", hint: "ask what the user must not know, and why"},
		{id: "ignore-instructions", words: []string{"ignore", "disregard", "forget", "override", "bypass"},
			pattern: ignoreEarlier, judge: unlessExample, message: "asks to ignore other instructions", hint: "a skill adds instructions; it has no reason to cancel others"},
	}
})

var (
	fetchAndRun = lazyregexp.New(`(?:curl|wget)\s[^|]*?(?:https?://|\$|<|[a-z0-9-]+\.[a-z]{2,}/)[^\n]*?\|\s*(?:sudo\s+(?:-\S+\s+)*)?(?:env\s+)?(?:\w+=\S+\s+)*(?:/\S*/)?(?:(?:ba|z|da|k|fi)?sh(?:[\s"'` + "`" + `);]|$)|(?:python[23]?|perl|ruby|node|php)(?:\s*$|\s+-(?:\s|$)|\s*["'` + "`" + `);&]))` +
		`|(?:\b(?:ba|z|da)?sh|\bsource|\beval|\s\.)\s+(?:-\w+\s+)*["']?(?:\$\(|<\(|` + "`" + `)\s*(?:curl|wget)\s` +
		`|\b(?:iex|invoke-expression)\b[^\n]*\b(?:irm|iwr|invoke-restmethod|invoke-webrequest|curl|downloadstring)\b` +
		`|\b(?:irm|iwr|invoke-restmethod|invoke-webrequest|downloadstring)\b[^\n]*(?:https?://|\$|[a-z0-9-]+\.[a-z]{2,})[^\n]*\|\s*(?:iex|invoke-expression)\b` +
		`|\bexec\(\s*[^\n]*(?:urlopen|requests\.get)\(` +
		`|(?:curl|wget)\s[^\n]*https?://[^\n]*(?:&&|;)\s*(?:sudo\s+)?(?:ba|z)?sh\s+[\w./~$-]`)

	encoded = lazyregexp.New(`base64\s+(?:-\w*d|--decode)[^\n]*\|\s*(?:sudo\s+)?(?:(?:ba|z|da)?sh|python[23]?|perl|node)(?:[\s"'` + "`" + `)]|$)` +
		`|(?:\b(?:ba|z)?sh\s+-c|\beval)\s+["']?\$\([^\n]*base64\s+(?:-\w*d|--decode)` +
		`|(?:powershell|pwsh)(?:\.exe)?\s[^\n]*-(?:e|en|enc|encodedcommand)\s+[a-z0-9+/=]{24,}` +
		`|\b(?:exec|eval)\(\s*[^\n]*(?:b64decode|marshal\.loads|bytes\.fromhex|atob)\s*\(` +
		`|xxd\s+-r[^\n]*\|\s*(?:ba|z)?sh\b`)

	fromAddress = lazyregexp.New(`(?:npx|bunx|uvx|pipx run|pnpm dlx|pip3? install)\s+(?:(?:-[a-z]|--(?:yes|upgrade|user|refresh|quiet|from|editable|force-reinstall|no-cache-dir|no-deps|pre|package))\s+)*["'` + "`" + `]?(?:[\w.\[\]-]+\s*@\s*)?(?:git\+)?https?://[^\s"'` + "`" + `<>)]+`)

	lockedArchive = lazyregexp.New(`(?:\.zip|\.rar|\.7z|archive|extract|unpack)[^\n]*\b` + withPassword +
		`|\b` + withPassword + `[^\n]*(?:\.zip|\.rar|\.7z\b|extract|unpack)` +
		`|unzip\s+(?:-\w+\s+)*-p\s*["']?\w+["']?\s[^\n]*\.zip|7z\s+x\s[^\n]*-p\w+`)

	pasteHost = lazyregexp.New(`\b(?:pastebin\.com/(?:raw/)?[a-z0-9]{8}\b|glot\.io/\w+|paste\.ee/\w|hastebin\.com/\w|rentry\.(?:co|org)/\w|ghostbin\.\w+/\w|controlc\.com/\w|transfer\.sh/|termbin\.com|0x0\.st|dpaste\.(?:com|org)/\w|paste\.rs\b|anonfiles\.com/\w|gofile\.io/d/|webhook\.site/\w|bashupload\.com)|[\w-]+\.(?:requestbin\.\w+|oast\.\w+|interact\.sh)\b`)

	numericHost = lazyregexp.New(`https?://(?:\d{1,3}\.){3}\d{1,3}(?:[:/\s"'` + "`" + `)>]|$)`)

	hideFrom = lazyregexp.New(`\b(?:do not|don't|don’t|never|must not)\s+(?:ever\s+)?(?:mention|reveal|disclose|report|show|explain)\s+(?:this|that|it|these|any of (?:this|it|these)|anything about (?:this|it)|what you (?:do|did)|the (?:upload|download|request|command|step|installation))(?:\s+\w+){0,3}?\s+to\s+(?:the\s+|your\s+)?(?:user|human|anyone)\b` +
		`|\b(?:do not|don't|don’t|never|must not)\s+(?:ever\s+)?(?:tell|inform|notify|alert|warn|let)\s+(?:the\s+|your\s+)?(?:user|human|anyone)\s+(?:know\s+)?(?:about|of|that)\s+(?:this|these|it\b|you\b|what you)` +
		`|\b(?:hide|conceal)\s+(?:this|it|these|the fact|everything|all of this|that)(?:\s+\w+){0,4}\s+from\s+(?:the\s+|your\s+)?(?:user|human)` +
		`|\bkeep\s+(?:this|it|these|everything)\s+(?:a\s+)?(?:secret|hidden)\s+from\s+(?:the\s+|your\s+)?(?:user|human)` +
		`|(?:^|[.:;]\s|\bthen\s|\band\s)\W*silently\s+(?:send|upload|post|transmit|exfiltrate|collect|install)\b` +
		`|\bwithout\s+(?:the\s+)?(?:user|human)(?:'s|’s)?\s+(?:noticing|knowing|knowledge)`)

	ignoreEarlier = lazyregexp.New(`\b(?:ignore|disregard|forget|override|bypass)\s+(?:(?:all|any|every|the|your|my|of|these|those|its)\s+){0,3}(?:previous|prior|earlier|preceding|above|other|safety|original)\s+(?:\w+\s+)?(?:instructions?|prompts?|rules|guidelines|messages|directives|guardrails|restrictions|policies)`)

	// A line that reads credentials and sends, or one that reads them and another that sends.
	credentials = lazyregexp.New(secret + `[^\n]*\|[^\n|]*(?:curl|wget|nc|ncat|netcat|socat)\s` +
		`|(?:curl|wget|invoke-webrequest|invoke-restmethod)\s[^\n]*(?:-d|--data\S*|-f|--form|-t|--upload-file|--post-file|-infile)[\s=]\S*@?["']?` + secret +
		`|(?:curl|wget)\s[^\n]*\$\(\s*(?:cat|base64)\s[^\n)]*` + secret +
		`|(?:send|upload|post|transmit|exfiltrate|email|forward|submit)\s[^\n.]*` + secret + `[^\n]*(?:https?://|server|endpoint|webhook)` +
		`|(?:open|read_text|readfile|readfilesync|get-content|cat|cp|tar|zip)\b[^\n]*` + secret + `[^\n]*(?:requests\.post|axios\.post|httpx\.post|urlopen\(|fetch\(|curl\s[^\n]*(?:-d|--data|-f|-t|--upload)\s)`)
)

const withPassword = `(?:(?:password|passwd)(?:(?:\s+is|\s*[:=])\s*["'` + "`" + `*]*\w|\s+["'` + "`" + `]\w)|pass:\s["'` + "`" + `]?\w+["'` + "`" + `]?\))`

const secret = `(?:\.ssh/(?:id_)?\w*|\bid_(?:rsa|ed25519)\b|\.aws/credentials|(?:^|[\s/"'@=])\.env\b|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.kube/config|\.config/gcloud|/etc/shadow|login\.keychain|(?:find-generic-password|dump-keychain)|cookies\.sqlite|login data|wallet\.dat|\.docker/config\.json)`

// installers are hosts from which many people install a well-known program in this way.
// To run what they serve is usual, though still unseen.
var installers = [...]string{"sh.rustup.rs", "astral.sh", "get.docker.com", "bun.sh", "bun.com", "deno.land", "raw.githubusercontent.com/homebrew/", "raw.githubusercontent.com/nvm-sh/",
	"get.sdkman.io", "deb.nodesource.com", "rpm.nodesource.com", "ollama.com", "ollama.ai", "foundry.paradigm.xyz", "install.python-poetry.org", "get.pnpm.io", "nixos.org", "install.determinate.systems",
	"fly.io", "claude.ai", "sdk.cloud.google.com", "raw.githubusercontent.com/helm/", "get.helm.sh", "get.k3s.io", "get.volta.sh", "fnm.vercel.app", "pixi.sh", "mise.run", "mise.jdx.dev",
	"starship.rs", "community.chocolatey.org", "get.scoop.sh", "bootstrap.pypa.io", "tailscale.com", "aka.ms", "cursor.com", "opencode.ai", "just.systems", "get.pulumi.com", "cli.github.com", "packages.microsoft.com", "release.solana.com", "release.anza.xyz"}

func judgeFetch(before, match, after string) skill.Severity {
	if known(match, installers[:]) {
		return skill.Note
	}
	return unlessWarned(before, match, after)
}

// forges are hosts of repositories that show what they serve.
var forges = [...]string{"github.com", "gitlab.com", "codeberg.org", "huggingface.co", "bitbucket.org"}

func judgePackage(before, match, after string) skill.Severity {
	if known(match, forges[:]) {
		return skill.Note
	}
	return unlessWarned(before, match, after)
}

// known reports whether all addresses in a text are of known hosts, or below a path of them.
func known(text string, hosts []string) bool {
	found := addresses().FindAllString(text, -1)
	return len(found) > 0 && !slices.ContainsFunc(found, func(address string) bool {
		rest, ok := strings.CutPrefix(address, "https://")
		return !ok || !slices.ContainsFunc(hosts, func(host string) bool {
			return rest == host || strings.HasPrefix(rest, strings.TrimSuffix(host, "/")+"/")
		})
	})
}

var addresses = lazyregexp.New(`https?://[^\s"'` + "`" + `<>()|;]+`)

// unlessWarned is a warning, unless the line warns against what it names, or tells how
// to recognize it.
func unlessWarned(before, match, after string) skill.Severity {
	if warns().MatchString(before+match+after) || against().MatchString(before) {
		return ""
	}
	return skill.Warning
}

// unlessExample is unlessWarned for sentences, which are examples if they are quoted.
func unlessExample(before, match, after string) skill.Severity {
	if strings.Count(before, `"`)%2 == 1 || strings.Count(before, "`")%2 == 1 ||
		strings.LastIndex(before, "“") > strings.LastIndex(before, "”") || strings.HasSuffix(before, "'") {
		return ""
	}
	return unlessWarned(before, match, after)
}

var (
	warns   = lazyregexp.New(`\b(?:inject\w*|attack\w*|malicious|untrusted|jailbreak\w*|suspicious|phishing|red[ -]?flags?|vulnerab\w+|exfiltrat\w+|adversar\w+|payloads?|threats?|anti-?patterns?|dangerous|unsafe|insecure|blocked|forbidden|refuse|reject\w*)\b`)
	against = lazyregexp.New(`\b(?:never|don't|don’t|do not|avoid|must not|should not|cannot|can't|instead of|rather than|no)\b[^.]*$|❌|✗`)
)

func judgeAddress(before, match, after string) skill.Severity {
	host := match[strings.Index(match, "//")+2:]
	host = strings.TrimRight(host, ":/ \"'`)>")
	if private().MatchString(host) {
		return ""
	}
	return unlessWarned(before, match, after)
}

// private matches addresses that are not reached from outside, that documents use as
// examples, or that are no addresses.
var private = lazyregexp.New(`^(?:0|10|127|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])|192\.0\.2|198\.51\.100|203\.0\.113|22[4-9]|2[3-5]\d|1\.2\.3\.4|1\.1\.1\.1|1\.0\.0\.1|8\.8\.[84]\.[84]|9\.9\.9\.9|5\.6\.7\.8|12\.34\.56\.78|123\.\d+\.\d+\.\d+)(?:\.|$)|\b(?:2[5-9]\d|[3-9]\d\d)\b`)
