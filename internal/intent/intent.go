// Package intent classifies prompts: a reply, a log, a shell command and so on. Its
// one rule: a text that may hold a request is an ordinary prompt, because hiding a
// useful skill costs more than offering a useless one.
package intent

import (
	_ "embed" // for the replies
	"strings"
	"unicode"

	"github.com/repertoire-skills/repertoire/internal/lazyregexp"
	"github.com/repertoire-skills/repertoire/internal/words"
)

// A Kind is a kind of prompt. A prompt that is not Ordinary wants no skill unless it
// names one.
type Kind string

// The kinds of prompts.
const (
	Ordinary     Kind = "" // may hold a request
	Empty        Kind = "empty"
	SlashCommand Kind = "slash command" // to the program that the model runs in
	Reply        Kind = "reply"         // yes, go on, thanks, hello
	Shell        Kind = "shell command"
	Diff         Kind = "diff"
	Log          Kind = "log"
	Code         Kind = "code"
)

// Phrase returns the words that complete the sentence "the prompt is …".
func (k Kind) Phrase() string {
	return map[Kind]string{
		Ordinary:     "an ordinary prompt",
		Empty:        "empty",
		SlashCommand: "a slash command",
		Reply:        "a reply or a greeting",
		Shell:        "a shell command",
		Diff:         "a diff without a request",
		Log:          "a pasted log without a request",
		Code:         "code without a request",
	}[k]
}

// Of returns the kind of a prompt.
func Of(text string) Kind {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	switch {
	case text == "":
		return Empty
	case isSlashCommand(text):
		return SlashCommand
	case isReply(text):
		return Reply
	case isDiff(text):
		return Diff
	}
	return ofPasted(text)
}

// isSlashCommand reports whether the text is a command to the program that runs the
// model, such as "/model opus". The text may also start with the path of a web page or
// file ("/users is slow when I page through it"), so only commands that are known to
// take free text may have more than two words after the name.
func isSlashCommand(text string) bool {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return false
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 || !strings.HasPrefix(rest, fields[0]) || !commandName().MatchString(fields[0]) || rootFolders()[fields[0]] {
		return false
	}
	return freeTextCommands()[fields[0]] || len(fields) <= 3 && !asks(strings.Join(fields[1:], " "))
}

var (
	commandName      = lazyregexp.New(`^[a-zA-Z][\w:-]*$`)
	freeTextCommands = words.Set(`add-dir btw clear compact memory model output-style permissions rename resume`)
	rootFolders      = words.Set(`bin boot dev etc home lib media mnt opt private proc root run sbin srv sys tmp usr var`)
)

// sum matches two numbers with an operator between them: "18 % of 2,340" wants to be worked
// out, while "100 %, go on" does not.
var sum = lazyregexp.New(`\d\s*(?:[*×÷/^]|%\s*(?:of|von|de)?)\s*\d`)

// maxReply is the greatest number of words in a reply or greeting.
const maxReply = 8

// replies holds replies as people type them in eight languages, one in a line, sorted, in lower case and with blanks for what is
// no letter: those whose words alone might be of a request.
//
//go:embed replies.txt
var replies string

// isReply reports whether the text is only yes, go on, thanks, hello or a choice: at
// most maxReply words, all of this kind, or no word at all; or one of replies.
func isReply(text string) bool {
	if len(text) > 200 || strings.ContainsAny(text, "=+#") || sum().MatchString(text) {
		return false
	}
	key := strings.Join(strings.FieldsFunc(strings.ToLower(text), words.IsSeparator), " ")
	if strings.Contains("\n"+replies, "\n"+key+"\n") && key != "" {
		return true
	}
	n := 0
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool {
		return r != '\'' && r != '’' && words.IsSeparator(r)
	}) {
		if n++; n > maxReply {
			return false
		}
		word = apostrophes.Replace(word)
		if !replyWords()[word] && !isChoice(word) && !(strings.ContainsFunc(word, words.Dense) && isDenseReply(word)) {
			return false
		}
	}
	return true
}

var apostrophes = strings.NewReplacer("'", "", "’", "")

// isChoice reports whether the word is a number or a single letter, such as "2" or "b".
func isChoice(word string) bool {
	return len(word) == 1 && word[0] >= 'a' && word[0] <= 'z' ||
		len(word) <= 3 && !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsDigit(r) })
}

// isDenseReply reports whether a run of characters, in a script without spaces,
// consists of denseReplies alone.
func isDenseReply(run string) bool {
	for run != "" {
		longest := 0
		for phrase := range denseReplies() {
			if strings.HasPrefix(run, phrase) {
				longest = max(longest, len(phrase))
			}
		}
		if longest == 0 {
			return false
		}
		run = run[longest:]
	}
	return true
}

// replyWords are the words of replies and greetings. None of them alone says what a
// model should work on.
var replyWords = words.Set(`
	absolutely afternoon again agree agreed ahead all alright also and anyway approve approved as awesome
	back both bye cancel carry confirm confirmed continue cool correct course
	day definitely do don't done either else enough evening everything exactly excellent
	fine first forget forward for fourth from
	good goodbye goodnight got great greetings
	haha hello hey hi hiya hmm how howdy
	i'm i it it's just k kk keep last later let's lets lgtm lol looks love
	makes many maybe me mind morning much
	nah neither never next nice night no nope nothing now of ok okay okey on one ones only oops option
	perfect please pls plz proceed really ready right same second see sense skip so sorry sounds stop sup super sure
	ta that's that thank thanks the then there third this thx ty too to try
	understood very wait we welcome well what's whatever wonderful works wow
	y ya yah yay yea yeah yeap yep yes you yup your you're u up yw
	a are is be go going hm mhm
	ja jawohl nein doch danke dankeschön bitte weiter mach machen wir genau gut klar hallo tschüss einverstanden passt super stimmt gerne
	moin guten tag abend schön sehr alles richtig nochmal stopp abbrechen fertig servus
	oui non merci d'accord ouais bonjour bonsoir salut continuer continuez parfait stp svp s'il vous te plaît plait vas-y vas vas-y allez-y bien sûr
	beaucoup d'ac voilà exact encore entendu
	sí si no gracias vale claro hola adiós adios sigue continúa continua adelante perfecto bueno buenos buenas días tardes noches por favor muchas muy
	bien hazlo dale correcto exacto listo otra vez de acuerdo
	sim não nao obrigado obrigada olá ola oi tchau continue continuar beleza certo isso pode perfeito bom boa dia tarde noite segue seguir blz valeu
	sì grazie ciao va bene certo prego avanti continua perfetto buongiorno buonasera esatto d'accordo vai procedi
	nee dank je wel bedankt hallo goed prima doorgaan verder ga graag alsjeblieft oké
	tak nie dziękuję dzięki cześć dobrze dalej proszę kontynuuj jasne
	да нет спасибо привет ок окей хорошо продолжай продолжайте давай дальше пожалуйста ладно ага конечно здравствуйте верно отлично стоп понял
	так ні дякую привіт добре продовжуй
	evet hayır tamam teşekkürler teşekkür ederim merhaba devam et selam olur lütfen
	ya tidak terima kasih lanjut lanjutkan oke halo baik
	vâng có không cảm ơn tiếp tục xin chào được
	नहीं हाँ हां धन्यवाद नमस्ते ठीक है जारी रखें रखो
	نعم لا شكرا شكراً مرحبا تمام استمر أكمل حسنا
	כן לא תודה שלום המשך בסדר
	네 예 아니요 아니오 응 그래 좋아 좋아요 좋습니다 감사합니다 고마워 고마워요 안녕 안녕하세요 계속 계속해 계속해줘 계속해주세요 진행해 진행해줘 진행해주세요 알겠습니다 알겠어
	ναι όχι ευχαριστώ γεια συνέχισε εντάξει
`)

// denseReplies are phrases of replies and greetings in scripts without spaces.
var denseReplies = words.Set(`
	好 好的 好吧 好呀 好啊 好嘞 是 是的 对 對 对的 對的 没错 沒錯 不 不是 不用 不用了 不要 不对 不對 可以 可以的 行 行吧 嗯 嗯嗯 哦 继续 繼續 请继续 請繼續
	请 請 继续吧 繼續吧 接着 接着来 谢谢 謝謝 谢谢你 謝謝你 谢谢您 多谢 多謝 感谢 感謝 你好 您好 大家好 早 早上好 早安 晚上好 晚安 下午好 再见 再見 同意 确认 確認
	没问题 沒問題 没事 明白 明白了 知道了 收到 了解 开始 開始 开始吧 開始吧 停 停止 取消 下一步 下一个 算了 随便 都行 就这样 就這樣 完成 完成了 非常 很好 太好了 完美 了 吧 的 啊
	はい いいえ うん ううん ええ そう そうです そうですね ok お願い お願いします おねがいします よろしく よろしくお願いします どうぞ 続けて 続けてください つづけて 続行 続き 次 次へ
	ありがとう ありがとうございます ありがとうございました どうも すみません こんにちは こんばんは おはよう おはようございます 了解 了解です 了解しました わかった わかりました 分かりました
	大丈夫 大丈夫です いいです いいよ いいね オッケー オーケー やめて ストップ キャンセル 進めて 進めてください
	ใช่ ใช่ครับ ใช่ค่ะ ไม่ ไม่ใช่ ขอบคุณ ขอบคุณครับ ขอบคุณค่ะ สวัสดี สวัสดีครับ สวัสดีค่ะ ตกลง ได้ ได้เลย โอเค ต่อ ทำต่อ ทำต่อเลย ครับ ค่ะ
`)
