package client

import (
	"strings"
	"sync"
)

// Others returns the clients that setup does not serve. Of each only the title and the
// folders of skills are described. It must not be changed.
func Others() []Client { return others() }

var others = sync.OnceValue(func() []Client {
	antigravity := reads("Antigravity", ".agent", home(".gemini/config"), home(".gemini/antigravity"), home(".gemini/antigravity-cli"))
	antigravity.Plugins = pluginsIn(home(".agent/plugins"))
	return []Client{
		reads("AdaL", ".adal"),
		reads("AiderDesk", ".aider-desk"),
		antigravity,
		reads("AstrBot", "", home(".astrbot/data")),
		reads("Augment", ".augment"),
		reads("Autohand Code", ".autohand", variable("AUTOHAND_HOME", home(".autohand"))),
		reads("CodeArts", ".codeartsdoer"),
		reads("CodeBuddy", ".codebuddy"),
		reads("Codemaker", ".codemaker"),
		reads("Code Studio", ".codestudio"),
		reads("CodeWhale", ".codewhale", variable("CODEWHALE_HOME", home(".codewhale"))),
		reads("Comate", ".comate"),
		reads("Command Code", ".commandcode"),
		reads("Cline", ".cline"),
		reads("Continue", ".continue"),
		reads("Cortex Code", ".cortex", home(".snowflake/cortex")),
		reads("Crush", ".crush", config("crush")),
		reads("Deep Agents", ".deepagents", home(".deepagents/agent")),
		reads("Devin", ".devin", config("devin")),
		reads("Droid", ".factory"),
		reads("Firebender", ".firebender"),
		reads("ForgeCode", ".forge", home("forge")),
		reads("fx", ".fx"),
		reads("Grok Build", ".grok", variable("GROK_HOME", home(".grok"))),
		reads("Hermes Agent", ".hermes", variable("HERMES_HOME", home(".hermes"))),
		reads("IBM Bob", ".bob"),
		reads("iFlow CLI", ".iflow"),
		reads("inference.sh", ".inferencesh"),
		reads("Jazz", ".jazz"),
		reads("Junie", ".junie"),
		reads("Kilo Code", ".kilo .kilocode"),
		reads("Kimchi", ".kimchi", config("kimchi/harness")),
		reads("Kiro", ".kiro"),
		reads("Kode", ".kode"),
		reads("Letta", "", home(".letta")),
		reads("Lingma", ".lingma"),
		reads("MCPJam", ".mcpjam"),
		reads("MiniMax Code", ".minimax"),
		reads("Mistral Vibe", ".vibe", variable("VIBE_HOME", home(".vibe"))),
		reads("Moxby", ".moxby"),
		reads("Mux", ".mux"),
		reads("Neovate", ".neovate"),
		reads("oh-my-pi", ".omp", home(".omp/agent")),
		reads("Ona", ".ona"),
		reads("OpenHands", ".openhands"),
		reads("Pi", ".pi", home(".pi/agent")),
		reads("Pochi", ".pochi"),
		reads("Posit Assistant", ".posit/assistant"),
		reads("PureCode", "", home(".purecode")),
		reads("Qoder", ".qoder", home(".qoder-cn")),
		reads("Reasonix", ".reasonix"),
		reads("Roo Code", ".roo"),
		reads("Rovo Dev", ".rovodev"),
		reads("Tabnine", ".tabnine/agent"),
		reads("Terramind", ".terramind"),
		reads("Tinycloud", ".tinycloud"),
		reads("Trae", ".trae", home(".trae-cn")),
		reads("Verdent", ".verdent"),
		reads("Xcode", "", on("darwin", home("Library/Developer/Xcode/CodingAssistant/ClaudeAgentConfig"), none),
			on("darwin", home("Library/Developer/Xcode/CodingAssistant/codex"), none)),
		reads("ZCode", ".zcode"),
		reads("Zencoder", ".zencoder"),
	}
})

// reads describes a client that reads the folder "skills" in some folders of a project and
// of the home, which spaces separate, and in other folders of the user.
func reads(title, folders string, others ...Path) Client {
	c := Client{Title: title, Folders: strings.Fields(folders)}
	for _, dir := range others {
		c.Skills = append(c.Skills, dir.below("skills"))
	}
	return c
}

func none(*Machine) string { return "" }
