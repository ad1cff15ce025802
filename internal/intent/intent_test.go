package intent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/repertoire-skills/repertoire/internal/must"
	"github.com/repertoire-skills/repertoire/internal/words/wordstest"
)

// kinds are prompts of each kind.
var kinds = map[Kind][]string{
	Empty: {"", " ", "\n\t\r\n", "\u00a0"},
	SlashCommand: {
		"/compact", "/clear", "/model opus", "/pdf", "/review-pr 123", "/plugin:deploy staging", "/help", "  /cost  ",
		"/compact keep the decisions about the database and forget the rest", "/Foo", "/rename the migration session",
	},
	Reply: {
		"yes", "Yes!", "y", "ok", "OK, go ahead", "ok go ahead.", "continue", "Continue please", "thanks!", "thank you so much",
		"hi", "Hello there", "good morning", "lgtm", "looks good to me", "sounds good, do it", "2", "b", "option 2", "1, 3", "the second one", "no, stop",
		"👍", "???", "…", ":)", "that's right", "don't", "ja", "Ja bitte", "nein danke", "mach weiter", "alles klar", "sí", "sí, por favor", "vale, continúa",
		"oui", "non merci", "d’accord", "vas-y", "obrigado", "pode continuar", "sì, grazie", "va bene", "да", "хорошо, продолжай", "tak", "evet devam et",
		"好的", "好的，继续", "继续", "请继续。", "谢谢！", "你好", "没问题", "ok继续", "はい", "はい、お願いします", "続けてください", "ありがとうございます。",
		"네", "네, 계속해줘", "감사합니다", "ขอบคุณครับ", "नमस्ते", "नहीं", "نعم", "شكرا", "כן", "vâng",
	},
	Shell: {
		"git status", "ls -la", "$ npm test", "$ make my day", "git diff HEAD~3", "git commit -m \"fix the login page\"", "git rebase -i HEAD~5", "cat app.log | grep -i error | wc -l",
		"cd ./src && ls", "npm run build && npm test", "sudo rm -rf ./build", "./gradlew --info", "!git status", "kubectl get pods -n prod",
		"curl -s http://127.0.0.1:8080/health", "python3 main.py --verbose", "go test ./...", "docker ps -a", "git pull\nmake build\n", "pwd", "ls",
	},
	Diff: {
		"diff --git a/x.go b/x.go\nindex 1a2b3c4..5d6e7f8 100644\n--- a/x.go\n+++ b/x.go\n@@ -1,3 +1,3 @@\n func x() {\n-\treturn 1\n+\treturn 2\n }",
		"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old text, why?\n+new text\n\\ No newline at end of file\n",
		"commit 0a1b2c3d\nAuthor: A <a@example.com>\nDate: today\n\n    why\n\ndiff --git a/x b/x\nnew file mode 100644\n@@ -0,0 +1 @@\n+x",
	},
	Log: {
		"Traceback (most recent call last):\n  File \"app.py\", line 12, in <module>\n    main()\n  File \"app.py\", line 8, in main\n    return rows[0]\nIndexError: list index out of range",
		"TypeError: Cannot read properties of undefined (reading 'map')\n    at Table (src/Table.jsx:14:22)\n    at renderWithHooks (node_modules/react-dom/index.js:14985:18)",
		"panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\nmain.main()\n\t/home/me/x/main.go:8 +0x1d\nexit status 2",
		"2025-11-02 10:15:42,123 INFO  [main] com.example.App - started\n2025-11-02 10:15:43,001 ERROR [main] com.example.App - cannot connect\njava.net.ConnectException: Connection refused\n\tat java.base/sun.nio.ch.Net.connect0(Native Method)\n\t... 12 more",
		"./main.go:12:5: undefined: foo\n./main.go:20:2: too many return values",
		"src/app.ts(4,7): error TS2322: Type 'string' is not assignable to type 'number'.\nsrc/app.ts(9,1): error TS1005: ';' expected.",
		"npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! Failed at the build script.",
		"Nov  2 10:15:42 host sshd[812]: Failed password for root from 127.0.0.1 port 22\nNov  2 10:15:43 host sshd[812]: Connection closed by 127.0.0.1 port 22",
		"127.0.0.1 - - [02/Nov/2025:10:15:42 +0000] \"GET / HTTP/1.1\" 200 612\n127.0.0.1 - - [02/Nov/2025:10:15:43 +0000] \"GET /a HTTP/1.1\" 404 12",
		"error[E0382]: borrow of moved value: `v`\n --> src/main.rs:4:20\n  |\n2 |     let v = vec![1];\n  |         - move occurs here",
		"```\n[ERROR] Failed to execute goal on project x\n[ERROR] Re-run with -X\n```",
		"time=\"2025-11-02T10:15:42Z\" level=error msg=\"cannot bind\"\ntime=\"2025-11-02T10:15:43Z\" level=info msg=\"exiting\"",
		"$ npm test\nFAIL src/a.test.js\nTypeError: x is not a function\n    at Object.<anonymous> (src/a.test.js:3:5)",
		"--- FAIL: TestX (0.00s)\n    x_test.go:12: got 1, want 2\nFAIL\texample.com/x\t0.003s",
	},
	Code: {
		"```go\nfunc add(a, b int) int { return a + b }\n```",
		"```python\n# adds two numbers\ndef add(a, b):\n    return a + b\n```\n\n```python\nprint(add(1, 2))\n```",
		"def add(a, b):\n    return a + b\n\nprint(add(1, 2))",
		"import React from 'react';\n\nexport default function App() {\n  const [n, setN] = useState(0);\n  return <button onClick={() => setN(n + 1)}>{n}</button>;\n}",
		"package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"hi\")\n}",
		"{\n  \"name\": \"x\",\n  \"version\": \"1.0.0\",\n  \"scripts\": {\n    \"test\": \"vitest\"\n  }\n}",
		"SELECT id, name\nFROM users\nWHERE id = 3;",
		"<div class=\"card\">\n  <h1>Title</h1>\n  <p>Two words</p>\n</div>",
		"#include <stdio.h>\nint main(void) {\n  puts(\"hi\");\n  return 0;\n}",
		"const a = 1;\nconst b = a + 2;",
	},
	Ordinary: {
		// Requests, however short.
		"fill in this form", "pdf", "review", "commit", "test", "deploy", "kube", "go fix it", "yes, and translate it into German", "hi, can you merge these pdfs?",
		"thanks! now write the release notes", "make a slide deck", "continue with the landing page", "ok 现在写测试", "好的，请翻译这份文件", "继续写小说", "填写表格", "翻訳してください",
		"はい、表を作って", "ja, übersetze das", "sí, traduce el texto", "да, переведи текст", "네, 번역해줘", "explain", "refactor", "help", "10000",
		// A path or a page is no command, nor is a request to one.
		"/etc/hosts is broken", "/tmp is full", "/users is slow when I page through it", "/login returns a 404 since this morning", "/ is slow", "/pdf fill in this form please",
		"/health broken why?", "/路径 ist weg", "/plan a landing page for the new product",
		// Commands that are topics.
		"git commit messages", "git bisect", "git rebase", "git merge conflict", "docker image is too big", "npm audit", "find duplicate files", "sort this list", "make a pdf",
		"cat pictures", "curl", "terraform plan", "kubectl get pods shows CrashLoopBackOff", "npm install error", "git push is rejected.", "git log for the release notes", "test my code",
		"python script to rename files", "git status?", "head of marketing", "export the table as csv", "go build fails", "go run all tests", "make",
		// A pasted text with a request is a prompt.
		"Why does this fail?\nTraceback (most recent call last):\n  File \"app.py\", line 12, in <module>\nIndexError: list index out of range",
		"Traceback (most recent call last):\n  File \"app.py\", line 12, in <module>\nIndexError: list index out of range\nmake it stop",
		"Traceback (most recent call last):\n  File \"app.py\", line 12, in <module>\nIndexError: list index out of range\n\n这是什么错误",
		"```go\nfunc add(a, b int) int { return a + b }\n```\nadd a test for this",
		"Translate the comments\n\n```go\n// eins\nx := 1\n```", "```go\n// please add a test\nx := 1\n```",
		"def add(a, b):\n    return a + b\nwrite the docs for it", "# Sort by date\nSELECT id\nFROM users;",
		"diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new\nReview this change", "$ npm test\nwhat is wrong here", "git status\nthen write a commit message",
		"<task>Fill in the form and send it</task>\n<context>The form is in the attachments folder</context>",
		"```\nWrite a blog post about our new product\n```", "```markdown\n# Plan\nWrite a blog post\n```", "{\"task\": \"Write a blog post about our new product\"}",
		// In doubt, a text is a prompt.
		"TypeError: Cannot read properties of undefined (reading 'map')", "main.go:12: rename this to total", "C++", "C#", "python 3", "awk one-liner", "sort CSV", "export csv/json",
		"```go\n// 请改写\nx := 1\n```", "x := 1\ny := 2 // please rename it", "ERROR: the login page is broken when I use Safari", "x = 1", "- clean the data;\n- draw a chart;",
		"[10:02] Anna: We need the report by Friday\n[10:03] Ben: I will write it", "2025-11-02 10:00 Standup with Anna\n2025-11-02 11:00 Review of the budget",
		"Title: Our product\nAudience: developers\nLength: 500 words", "date,amount\n2025-11-02,3.50\n2025-11-03,4.00", "Dear Anna,\n\nthe invoice is overdue.\n\nBen",
		"import data\nclean it", "if you see this:\nsay hello;", "Task:\n  build a page\n  deploy it",
	},
}

func TestOf(t *testing.T) {
	for want, prompts := range kinds {
		for _, text := range prompts {
			if got := Of(text); got != want {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		}
	}
}

// TestOfPasted: a pasted text without a request is not ordinary; with a request before or
// after it, it is.
func TestOfPasted(t *testing.T) {
	for _, kind := range []Kind{Diff, Log, Code, Shell} {
		for _, pasted := range kinds[kind] {
			for _, text := range []string{
				"Can you tell me what is going on here?\n\n" + pasted,
				pasted + "\n\nWrite a report about it for the team",
				"请帮我看看\n" + pasted,
				pasted + "\nArregla esto cuando puedas",
			} {
				if got := Of(text); got != Ordinary {
					t.Errorf("%q is %q", text, got)
				}
			}
		}
	}
}

// TestOfShared: almost no labelled prompt that wants a skill is classified as one that does
// not.
func TestOfShared(t *testing.T) {
	for _, set := range []string{"skill-evals", "trigger-evals", "swe-skills-bench", "metatool"} {
		prompts := wanting(t, filepath.Join("../../../shared/bench", set))
		silent := 0
		for id, text := range prompts {
			if kind := Of(text); kind != Ordinary {
				silent++
				t.Logf("%s %s is a %s: %.300q", set, id, kind, text)
			}
		}
		if silent*500 > len(prompts) {
			t.Errorf("%s: %d of %d prompts want no skill", set, silent, len(prompts))
		}
	}
}

// wanting returns the prompts of a labelled set that want a skill, by ID.
func wanting(t *testing.T, dir string) map[string]string {
	t.Helper()
	labels, err := os.ReadFile(filepath.Join(dir, "qrels.tsv"))
	if os.IsNotExist(err) {
		t.Skip("the labelled sets are not there")
	}
	queries, err2 := os.Open(filepath.Join(dir, "queries.jsonl"))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	defer queries.Close()
	wanted := make(map[string]bool)
	for line := range strings.Lines(string(labels)) {
		if id, label, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok && !strings.HasSuffix(label, "\t0") {
			wanted[id] = true
		}
	}
	prompts := make(map[string]string)
	for dec := json.NewDecoder(queries); dec.More(); {
		var q struct{ ID, Query string }
		must.Do(t, dec.Decode(&q))
		if wanted[q.ID] {
			prompts[q.ID] = q.Query
		}
	}
	if len(prompts) < 100 {
		t.Fatalf("%s: %d prompts", dir, len(prompts))
	}
	return prompts
}

// FuzzOf: every text has one of the kinds, and adding a request makes it ordinary.
func FuzzOf(f *testing.F) {
	for _, prompts := range kinds {
		for _, text := range prompts {
			f.Add(text)
		}
	}
	for _, text := range wordstest.NastyTexts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if kind := Of(text); !known(kind) {
			t.Errorf("%.100q is %q", text, kind)
		}
		if kind := Of("Please write a report about what follows here.\n\n" + text); kind != Ordinary {
			t.Errorf("a request before %.100q is %q", text, kind)
		}
		// The shortcut for one line gives the same result as the general way.
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimSpace(line)
			if short, long := ofPasted(line), ofLines([]string{line}); line != "" && short != long {
				t.Errorf("%.100q alone is %q, as one of several lines %q", line, short, long)
			}
		}
	})
}

// known reports whether k is one of the declared kinds.
func known(k Kind) bool {
	_, ok := kinds[k]
	return ok
}

// TestPhrase: every kind has a phrase that no other one has.
func TestPhrase(t *testing.T) {
	seen := make(map[string]Kind)
	for kind := range kinds {
		phrase := kind.Phrase()
		if other, ok := seen[phrase]; ok || phrase == "" {
			t.Errorf("%q and %q are both %q", kind, other, phrase)
		}
		seen[phrase] = kind
	}
}
